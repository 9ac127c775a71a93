// Looks up, adds and removes suppressed addresses of an organization.
import { AppError, allDone, Clock, type Deps, Store, timestamp, type UnitOfWork } from "#core"
import { type MailCategory, normalAddress } from "../email/index.ts"
import { type StoredSuppression, SuppressionCollection, type SuppressionReason, suppressionId, suppressionReasons } from "./collections.ts"
import { MailKeys } from "./keys.ts"

/** Suppressing reasons by mail category. An unsubscription covers marketing only. Operators must receive notices. */
const obeyed: Readonly<Record<MailCategory, readonly SuppressionReason[]>> = {
  marketing: suppressionReasons,
  transactional: ["hard_bounce", "complaint", "manual"],
  notice: ["hard_bounce"],
  sign_in: [],
}

/** Limit of a stored report, characters. */
const maxReport = 2_000

export interface NewSuppression extends Pick<StoredSuppression, "reason" | "source"> {
  readonly address: string
  readonly evidence: Partial<StoredSuppression["evidence"]>
}

export class Suppressions {
  static readonly inject = { store: Store, clock: Clock, keys: MailKeys }
  readonly #services: Deps<typeof Suppressions.inject>

  constructor(services: Deps<typeof Suppressions.inject>) {
    this.#services = services
  }

  /** Returns the keyed digest of an organization's address. */
  digestOf(organization: string, address: string): Promise<string> {
    return this.#services.keys.digestOf(organization, normalAddress(address))
  }

  /** Returns the ids of all possible entries of an address. A lookup by id has a constant cost for lists of any size. */
  async idsOf(organization: string, address: string, reasons: readonly SuppressionReason[] = suppressionReasons): Promise<string[]> {
    const digest = await this.digestOf(organization, address)
    return reasons.map((reason) => suppressionId(digest, reason))
  }

  /** Returns the suppressed addresses for mail of this category, with the first reason. */
  async among(organization: string, category: MailCategory, addresses: readonly string[]): Promise<Map<string, SuppressionReason>> {
    const entries = this.#services.store.open(SuppressionCollection, organization)
    const barred = new Map<string, SuppressionReason>()
    const look = async (address: string) => {
      const ids = await this.idsOf(organization, address, obeyed[category])
      const found = (await entries.find({ id: { $in: ids } })).map(({ reason }) => reason)
      const first = suppressionReasons.find((reason) => found.includes(reason))
      if (first) barred.set(address, first)
    }
    await allDone(addresses.map(look))
    return barred
  }

  /** Returns the entries against mail of this category to the address, by weight. */
  async obeyed(organization: string, category: MailCategory, address: string): Promise<StoredSuppression[]> {
    const weight = ({ reason }: StoredSuppression) => suppressionReasons.indexOf(reason)
    const found = (await this.of(organization, [address])).filter(({ reason }) => obeyed[category].includes(reason))
    return found.sort((one, other) => weight(one) - weight(other))
  }

  /** Returns all entries of the addresses. */
  async of(organization: string, addresses: readonly string[]): Promise<StoredSuppression[]> {
    if (addresses.length === 0) return []
    const digests = await Promise.all(addresses.map((address) => this.digestOf(organization, address)))
    return this.#services.store.open(SuppressionCollection, organization).find({ digest: { $in: digests } })
  }

  /** Throws `not_found`. */
  async require(organization: string, id: string): Promise<StoredSuppression> {
    const found = await this.#services.store.open(SuppressionCollection, organization).get(id)
    if (found) return found
    throw new AppError("not_found", `The organization's suppression list has no entry "${id}".`, { reason: "suppression_not_found" })
  }

  /** Stages an entry. An existing entry for the address and reason stays, and is returned. */
  async add(work: UnitOfWork, organization: string, { address, reason, source, evidence }: NewSuppression): Promise<StoredSuppression> {
    const digest = await this.digestOf(organization, address)
    const id = suppressionId(digest, reason)
    const { store, clock } = this.#services
    const stored = await store.open(SuppressionCollection, organization).get(id)
    if (stored) return stored
    const made: StoredSuppression = {
      id,
      digest,
      address: normalAddress(address),
      reason,
      source,
      evidence: {
        message_id: null,
        smtp_status: null,
        credential_id: null,
        ...evidence,
        report: (evidence.report ?? "").slice(0, maxReport),
      },
      created_at: timestamp(clock.now()),
    }
    work.in(SuppressionCollection, organization).insert(made, { ifPresent: "keep" })
    return made
  }

  /** Stages the removal of all entries of an address. */
  async forget(work: UnitOfWork, organization: string, address: string): Promise<void> {
    for (const id of await this.idsOf(organization, address)) work.in(SuppressionCollection, organization).remove(id, { optional: true })
  }

  remove(work: UnitOfWork, organization: string, { id }: StoredSuppression): void {
    work.in(SuppressionCollection, organization).remove(id)
  }
}
