// The ledger: records consents and withdrawals, returns the current consent, and erases a person.
import { AppError, Clock, type Deps, Ids, type Json, Store, timestamp, type UnitOfWork } from "#core"
import {
  ConsentCollection,
  type ConsentEntry,
  ConsentSettingsCollection,
  everyChannel,
  everyPurpose,
  settingsId,
  type Tombstone,
  TombstoneCollection,
  tombstoneId,
} from "./collections.ts"
import { ConsentKeys } from "./keys.ts"
import { type Channel, type Person, unreadable } from "./person.ts"
import type { ConsentQuestion, RuleAnswer } from "./rules.ts"

export type LedgerDeps = Deps<typeof Ledger.inject>

export type NewEntry = Pick<ConsentEntry, "kind" | "channel" | "purpose" | "source" | "wording" | "evidence" | "recorded_by"> & {
  readonly at?: string | undefined
  /** True for a consent from after the person's erasure. */
  readonly after_erasure: boolean
}

const page = 500
/** Tolerance for a fast clock of a caller. */
const maxAheadMs = 60_000
/** Entries in one read, per person and purpose. The newest entry decides, so a small number is enough. */
const maxRead = 200

export class Ledger {
  static readonly inject = { store: Store, clock: Clock, ids: Ids, keys: ConsentKeys }
  readonly #deps: LedgerDeps

  constructor(deps: LedgerDeps) {
    this.#deps = deps
  }

  digestOf(organization: string, person: Person): Promise<string> {
    return this.#deps.keys.digestOf(organization, person)
  }

  async tombstone(organization: string, person: Person): Promise<Tombstone | undefined> {
    return this.#deps.store.open(TombstoneCollection, organization).get(tombstoneId(await this.digestOf(organization, person)))
  }

  /** Stages an entry. Throws `failed_precondition` if the person was erased. */
  async record(work: UnitOfWork, organization: string, person: Person, { after_erasure, at, ...given }: NewEntry): Promise<ConsentEntry> {
    const now = timestamp(this.#deps.clock.now())
    if (at !== undefined && Date.parse(at) > Date.parse(now) + maxAheadMs) throw unreadable("at", `is ${at}, which is yet to come`)
    const tombstone = await this.tombstone(organization, person)
    if (tombstone) {
      if (!after_erasure || given.kind !== "given") throw erased(tombstone)
      work.in(TombstoneCollection, organization).remove(tombstone.id)
    }
    const entry: ConsentEntry = {
      ...given,
      id: this.#deps.ids.uuid(),
      digest: await this.digestOf(organization, person),
      address: person.value,
      at: at !== undefined && at < now ? at : now,
      recorded_at: now,
    }
    work.in(ConsentCollection, organization).insert(entry)
    return entry
  }

  /** Stages the erasure: removes all entries and stores a tombstone. The tombstone blocks later messages to the person. */
  async erase(work: UnitOfWork, organization: string, person: Person, by: { reason: string; credential_id: string }): Promise<Tombstone> {
    const earlier = await this.tombstone(organization, person)
    if (earlier) {
      throw new AppError("failed_precondition", `The person was erased at ${earlier.erased_at}; nothing is left to erase.`, {
        reason: "person_erased_already",
      })
    }
    const digest = await this.digestOf(organization, person)
    let entries = 0
    for await (const { id } of this.entries(organization, digest)) {
      work.in(ConsentCollection, organization).remove(id, { optional: true })
      entries++
    }
    const erased_at = timestamp(this.#deps.clock.now())
    const tombstone: Tombstone = { id: tombstoneId(digest), digest, reason: by.reason, erased_at, erased_by: by.credential_id, entries }
    work.in(TombstoneCollection, organization).insert(tombstone)
    return tombstone
  }

  /** Yields all entries of a person, newest first. */
  async *entries(organization: string, digest: string): AsyncIterable<ConsentEntry> {
    const ledger = this.#deps.store.open(ConsentCollection, organization)
    let after: [string, string] | undefined
    for (;;) {
      const found = await ledger.find({ digest }, { sort: { at: -1, id: -1 }, limit: page, ...(after ? { after } : {}) })
      yield* found
      const last = found.at(-1)
      if (!last || found.length < page) return
      after = [last.at, last.id]
    }
  }

  /** Returns the answer of the erasure rule. */
  async erasure({ organization, person }: ConsentQuestion): Promise<RuleAnswer> {
    const tombstone = await this.tombstone(organization, person)
    if (!tombstone) return { rule: "erasure", verdict: "silent", why: "The person was not erased.", evidence: {} }
    const evidence = { tombstone_id: tombstone.id, erased_at: tombstone.erased_at, reason: tombstone.reason }
    return { rule: "erasure", verdict: "forbids", why: "The person was erased, and has not given consent since.", evidence }
  }

  /**
   * Returns the answer of the newest entry for the channel and purpose. Without an entry, the answer depends on the purpose's
   * requirement.
   */
  async consent({ organization, person, channel, purpose }: ConsentQuestion): Promise<RuleAnswer> {
    const entry = await this.#newest(organization, person, channel, purpose)
    if (entry) {
      const { id, kind, at, source, wording, evidence } = entry
      const told = { entry_id: id, at, source, wording, purpose: entry.purpose, channel: entry.channel, evidence: evidence as Json }
      const given = kind === "given"
      const why = given ? `The person consented at ${at}.` : `The person withdrew consent at ${at}.`
      return { rule: "consent", verdict: given ? "allows" : "forbids", why, evidence: told }
    }
    const required = (await this.requiredPurposes(organization)).includes(purpose)
    if (required)
      return {
        rule: "consent",
        verdict: "forbids",
        why: `The organization requires consent for ${purpose}, and none is recorded.`,
        evidence: {},
      }
    return { rule: "consent", verdict: "silent", why: "No consent is recorded, and none was withdrawn.", evidence: {} }
  }

  async requiredPurposes(organization: string): Promise<string[]> {
    const kept = await this.#deps.store.open(ConsentSettingsCollection, organization).get(settingsId(organization))
    return kept?.required_purposes ?? []
  }

  setRequiredPurposes(work: UnitOfWork, organization: string, required_purposes: string[]): void {
    const $set = { required_purposes, updated_at: timestamp(this.#deps.clock.now()) }
    work.in(ConsentSettingsCollection, organization).update(settingsId(organization), { $set }, { upsert: true })
  }

  /** Returns the newest entry. A withdrawal wins over a consent of the same time. */
  async #newest(organization: string, person: Person, channel: Channel, purpose: string): Promise<ConsentEntry | undefined> {
    const filter = {
      digest: await this.digestOf(organization, person),
      purpose: { $in: [purpose, everyPurpose] },
      channel: { $in: [channel, everyChannel] },
    }
    const found = await this.#deps.store.open(ConsentCollection, organization).find(filter, { sort: { at: -1, id: -1 }, limit: maxRead })
    const atOnce = found.filter(({ at }) => at === found[0]?.at)
    return atOnce.find(({ kind }) => kind === "withdrawn") ?? found[0]
  }
}

function erased({ erased_at }: Tombstone): AppError {
  const message = `The person was erased at ${erased_at}; record a consent that they gave since with after_erasure.`
  return new AppError("failed_precondition", message, { reason: "person_erased" })
}
