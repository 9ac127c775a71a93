// Checks sending domains, disables and enables them.
import {
  AppError,
  type Clock,
  changesOf,
  defineChannel,
  type FieldsOf,
  type Live,
  type Scheduler,
  type Store,
  timestamp,
  token,
  type UnitOfWork,
  type Vault,
} from "#core"
import { checkRecords } from "./checks/check-records.ts"
import { signSample } from "./checks/receiver.ts"
import type { RecordCheck } from "./checks/record-check.ts"
import { afterCheck } from "./checks/transition.ts"
import { sealContext, stageRoute } from "./collections.ts"
import type { Lookup } from "./dns/lookup.ts"
import { endChecks, SendingDomainResource, type StoredDomain, scheduleChecks } from "./sending-domain.ts"

export const sendingDomainsChannel = defineChannel({
  name: "sending_domains",
  scope: "sending_domains:read",
  summary: "Sending domains whose status changes.",
})

export interface DomainServices {
  readonly store: Store
  readonly clock: Clock
  readonly live: Live
  readonly scheduler: Scheduler
  readonly vault: Vault
  readonly lookup: Lookup
  /** Returns a lookup at the zone's own name servers, for one check. */
  readonly ownLookup: () => Lookup
}

export class SendingDomains {
  readonly #services: DomainServices

  constructor(services: DomainServices) {
    this.#services = services
  }

  find(organization: string, domain: string): Promise<StoredDomain | undefined> {
    return SendingDomainResource.items.find(this.#services.store, organization, domain)
  }

  /** As `find`, but throws `not_found`. */
  require(organization: string, domain: string): Promise<StoredDomain> {
    return SendingDomainResource.items.require(this.#services.store, organization, domain)
  }

  /** Queries DNS and stages the new status. `asked`: started by a user instead of the schedule. Throws if the domain is disabled. */
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

  /** Stages a domain as disabled, or as pending again. */
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
    work.in(SendingDomainResource.collection, organization).update(domain.id, update, { where: { revision: domain.revision } })
    stageRoute(work, organization, changed)
    const { domain: name, status, error_reason } = changed
    if (status !== domain.status) {
      const data = { domain: name, status, previous_status: domain.status, error_reason }
      this.#services.live.stage(work, organization, { channel: sendingDomainsChannel.name, event: status, data })
    }
    return changed
  }
}

export const SendingDomainsToken = token<SendingDomains>("SendingDomains")
