// The first state of a registered domain: a DKIM key, the records to create, and the mail records that DNS has already.
import { createHash, generateKeyPair } from "node:crypto"
import { promisify } from "node:util"
import { AppError, type Deps, Ids, Vault } from "#core"
import { sealContext } from "./collections.ts"
import { DnsLookup } from "./dns/lookup.ts"
import { readDomain } from "./domain-name.ts"
import { recordsOf } from "./records.ts"
import type { Settings } from "./settings.ts"

interface Services extends Deps<typeof Registrations.inject> {
  readonly settings: Settings
}

const unchecked = { status: "pending", error_reason: "", last_checked_at: null, evidence: null, strikes: null } as const

export class Registrations {
  static readonly inject = { ids: Ids, vault: Vault, lookup: DnsLookup }
  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  /** Fields of a new domain. Asks DNS for mail records. */
  async start(id: string, domain: string, receiving: boolean) {
    const { ids, vault, settings } = this.#services
    const { name, apex } = readDomain(domain)
    const existing = await this.#hasMail(name, receiving)
    const { publicKey, privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2_048 })
    const der = publicKey.export({ type: "spki", format: "der" })
    const selector = `mr${createHash("sha256").update(ids.uuid()).digest("hex").slice(0, 16)}`
    const receives = receiving && !existing
    return {
      ...unchecked,
      apex,
      selector,
      private_key: vault.seal(privateKey.export({ type: "pkcs8", format: "pem" }).toString(), sealContext(id)),
      records: recordsOf({ domain: name, selector, publicKey: der.toString("base64"), receives }, settings),
      existing_mx_detected: existing,
      registered_receiving: receiving,
      receiving_enabled: receives,
    }
  }

  /** Whether a mail server is named; a null MX (RFC 7505) names none. Unknown is no: without receiving nothing hangs on it. */
  async #hasMail(name: string, receiving: boolean): Promise<boolean> {
    const { lookup, settings } = this.#services
    const answer = await lookup(name, "MX")
    if (answer.known) return answer.values.map(exchangeOf).some((host) => host !== "" && host !== settings.receiving_host)
    if (!receiving) return false
    throw new AppError("unavailable", `DNS does not tell whether ${name} has mail records (${answer.why}); try again.`, {
      reason: "dns_unavailable",
    })
  }
}

function exchangeOf(value: string): string {
  return value.slice(value.indexOf(" ") + 1)
}
