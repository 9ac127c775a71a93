// The service behind sending domains: registering, reading and changing them.
import { createHash, generateKeyPair } from "node:crypto"
import { promisify } from "node:util"
import {
  AppError,
  type Clock,
  changesOf,
  type FieldsOf,
  type Ids,
  type Live,
  type Scheduler,
  type Store,
  timestamp,
  token,
  type UnitOfWork,
  type Vault,
} from "#core"
import { sendingDomainsChannel } from "./channel.ts"
import { checkRecords } from "./checks/check-records.ts"
import { signSample } from "./checks/receiver.ts"
import type { RecordCheck } from "./checks/record-check.ts"
import { endChecks, scheduleChecks } from "./checks/schedule.ts"
import { afterCheck } from "./checks/transition.ts"
import { domainId, SendingDomainCollection, type StoredDomain, sealContext } from "./collections.ts"
import type { Lookup } from "./dns/lookup.ts"
import { asciiOf, readDomain } from "./domain-name.ts"
import { stageRoute } from "./mail-routes.ts"
import { recordsOf } from "./records.ts"
import type { Settings } from "./settings.ts"

export interface DomainServices {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly live: Live
  readonly scheduler: Scheduler
  readonly vault: Vault
  readonly lookup: Lookup
  /** One that asks the name servers of a zone themselves, for one check. */
  readonly ownLookup: () => Lookup
  readonly settings: Settings
}

export interface Registration extends Pick<StoredDomain, "forward_to_email" | "from_local_part" | "from_name"> {
  readonly domain: string
  readonly receiving: boolean
}

export type DomainChange = Partial<Pick<StoredDomain, "forward_to_email" | "from_local_part" | "from_name" | "receiving_enabled">>

export class SendingDomains {
  readonly #services: DomainServices

  constructor(services: DomainServices) {
    this.#services = services
  }

  async find(organization: string, domain: string): Promise<StoredDomain | undefined> {
    return this.#services.store.open(SendingDomainCollection, organization).get(domainId(organization, asciiOf(domain)))
  }

  /** As `find`; throws `not_found`. */
  async require(organization: string, domain: string): Promise<StoredDomain> {
    const found = await this.find(organization, domain)
    if (found) return found
    throw new AppError(
      "not_found",
      `The organization has not registered the domain "${domain}"; GET /v1/sending-domains lists its domains.`,
      {
        reason: "sending_domain_not_found",
      },
    )
  }

  /** Stages a domain with a key of its own. Asks DNS whether it has mail records already. */
  async register(work: UnitOfWork, organization: string, { domain: text, receiving, ...identity }: Registration): Promise<StoredDomain> {
    const { clock, ids, vault, settings } = this.#services
    const { name, apex } = readDomain(text)
    if (await this.find(organization, name)) throw registeredAlready(name)
    const existing = await this.#hasMail(name, receiving)
    const id = domainId(organization, name)
    const { publicKey, privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2_048 })
    const der = publicKey.export({ type: "spki", format: "der" })
    const at = timestamp(clock.now())
    const selector = `mr${createHash("sha256").update(ids.uuid()).digest("hex").slice(0, 16)}`
    const receives = receiving && !existing
    const stored: StoredDomain = {
      ...identity,
      id,
      domain: name,
      apex,
      status: "pending",
      error_reason: "",
      selector,
      private_key: vault.seal(privateKey.export({ type: "pkcs8", format: "pem" }).toString(), sealContext(id)),
      records: recordsOf({ domain: name, selector, publicKey: der.toString("base64"), receives }, settings),
      existing_mx_detected: existing,
      registered_receiving: receiving,
      receiving_enabled: receives,
      last_checked_at: null,
      evidence: null,
      strikes: null,
      revision: 1,
      created_at: at,
      updated_at: at,
    }
    work.in(SendingDomainCollection, organization).insert(stored)
    scheduleChecks(this.#services.scheduler, work, organization, stored)
    return stored
  }

  /** Stages a change made for the domain as read; one made meanwhile has the commit `aborted`. Throws where it cannot receive. */
  update(work: UnitOfWork, organization: string, domain: StoredDomain, change: DomainChange): StoredDomain {
    if (change.receiving_enabled && !domain.registered_receiving)
      throw new AppError(
        "failed_precondition",
        `${domain.domain} was registered without receiving, which is fixed; delete it and register it, or a subdomain, with receiving.`,
        { reason: "receiving_not_registered" },
      )
    if (change.receiving_enabled && domain.existing_mx_detected)
      throw new AppError(
        "failed_precondition",
        `${domain.domain} had mail records of a mailbox provider when it was registered; register a subdomain with receiving.`,
        { reason: "receiving_conflict" },
      )
    return this.#change(work, organization, domain, { ...change, updated_at: timestamp(this.#services.clock.now()) })
  }

  /** Asks DNS, and stages what follows from it. `asked`: by a person, not by the schedule. Throws where the domain is disabled. */
  async check(
    work: UnitOfWork,
    organization: string,
    domain: StoredDomain,
    asked: boolean,
  ): Promise<{ domain: StoredDomain; records: RecordCheck[] }> {
    if (domain.status === "disabled")
      throw new AppError("failed_precondition", `${domain.domain} is disabled; enable it first.`, { reason: "sending_domain_disabled" })
    const lookups = { own: this.#services.ownLookup(), any: this.#services.lookup }
    const privateKey = this.#services.vault.open(domain.private_key, sealContext(domain.id))
    const sample = await signSample({ domain: domain.domain, selector: domain.selector, privateKey })
    const records = await checkRecords({ lookups, apex: domain.apex, sample }, domain.records)
    const at = timestamp(this.#services.clock.now())
    const { status, error_reason, evidence, strikes } = afterCheck(domain, { at, records, asked })
    return { domain: this.#change(work, organization, domain, { status, error_reason, evidence, strikes, last_checked_at: at }), records }
  }

  /** Stages that a domain is disabled, or pending again. */
  setInUse(work: UnitOfWork, organization: string, domain: StoredDomain, inUse: boolean): StoredDomain {
    if (inUse === (domain.status !== "disabled")) return domain
    if (inUse) scheduleChecks(this.#services.scheduler, work, organization, domain)
    else endChecks(this.#services.scheduler, work, domain)
    const updated_at = timestamp(this.#services.clock.now())
    const status = inUse ? "pending" : "disabled"
    return this.#change(work, organization, domain, { status, error_reason: "", evidence: null, strikes: null, updated_at })
  }

  #change(work: UnitOfWork, organization: string, domain: StoredDomain, change: Partial<FieldsOf<StoredDomain>>): StoredDomain {
    const changed = { ...domain, ...change, revision: domain.revision + 1 }
    const update = { $set: changesOf({ ...change, revision: changed.revision }) }
    work.in(SendingDomainCollection, organization).update(domain.id, update, { where: { revision: domain.revision } })
    stageRoute(work, organization, changed)
    const { domain: name, status, error_reason } = changed
    if (status !== domain.status) {
      const data = { domain: name, status, previous_status: domain.status, error_reason }
      this.#services.live.stage(work, organization, { channel: sendingDomainsChannel.name, event: status, data })
    }
    return changed
  }

  remove(work: UnitOfWork, organization: string, domain: StoredDomain): void {
    work.in(SendingDomainCollection, organization).remove(domain.id, { where: { revision: domain.revision } })
    stageRoute(work, organization, { ...domain, status: "disabled" })
    endChecks(this.#services.scheduler, work, domain)
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

function registeredAlready(domain: string): AppError {
  return new AppError("already_exists", `The organization has registered ${domain} already.`, { reason: "sending_domain_registered" })
}

export const SendingDomainsToken = token<SendingDomains>("SendingDomains")
