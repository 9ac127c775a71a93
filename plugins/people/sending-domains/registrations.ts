// The initial state of a registered domain: a DKIM key, the records to create, and mail records found in DNS.
import { createHash, generateKeyPair } from "node:crypto"
import { promisify } from "node:util"
import { AppError, type Deps, Ids, Vault } from "#core"
import { sealContext } from "./collections.ts"
import { DnsLookup } from "./dns/lookup.ts"
import { type DomainName, readDomain } from "./domain-name.ts"
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

  /** Returns the fields of a new domain. Looks up mail records in DNS. */
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

  /**
   * Returns true if a mail server exists. A null MX (RFC 7505) counts as no server. Without receiving, a failed lookup counts as
   * false, because the answer has no effect.
   */
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

type RecordKind = "dkim" | "spf" | "return_path" | "dmarc" | "mx"

export interface ExpectedRecord {
  kind: RecordKind
  name: string
  type: "CNAME" | "MX" | "TXT"
  value: string
}

interface RecordsOf {
  readonly domain: DomainName["name"]
  readonly selector: string
  /** Base64 of the public key's DER. */
  readonly publicKey: string
  /** True if the MX record is offered. */
  readonly receives: boolean
}

/** Returns the records of a domain. Records required for sending come first. */
function recordsOf({ domain, selector, publicKey, receives }: RecordsOf, settings: Settings): ExpectedRecord[] {
  return [
    { kind: "dkim", name: `${selector}._domainkey.${domain}`, type: "TXT", value: `v=DKIM1; k=rsa; p=${publicKey}` },
    { kind: "spf", name: domain, type: "TXT", value: `v=spf1 include:${settings.spf_host} ~all` },
    { kind: "return_path", name: returnPathOf(domain), type: "CNAME", value: settings.return_path_host },
    { kind: "dmarc", name: `_dmarc.${domain}`, type: "TXT", value: "v=DMARC1; p=none" },
    ...(receives ? [{ kind: "mx", name: domain, type: "MX", value: `10 ${settings.receiving_host}` } as const] : []),
  ]
}

/** Returns the envelope sender's domain, the destination of bounces. */
export function returnPathOf(domain: string): string {
  return `bounce.${domain}`
}
