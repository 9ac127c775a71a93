// Reads and stages the records of a lead: the lead, its addresses and numbers, and its history.
import { Clock, type Deps, Ids, Store, stageRevision, timestamp, type UnitOfWork } from "#core"
import {
  ChangeCollection,
  type changeKinds,
  IdentityCollection,
  identityId,
  identityIds,
  type LeadChange,
  LeadCollection,
  type StoredIdentity,
  type StoredLead,
} from "./collections.ts"
import type { Identity } from "./identity.ts"

export const maxIdentities = 100
const maxDuplicates = 20

interface NoteOf {
  readonly lead_id: string
  readonly kind: (typeof changeKinds)[number]
  readonly at: string
}

export class LeadRecords {
  static readonly inject = { store: Store, clock: Clock, ids: Ids }
  readonly #deps: Deps<typeof LeadRecords.inject>

  constructor(deps: Deps<typeof LeadRecords.inject>) {
    this.#deps = deps
  }

  /** Returns the addresses and numbers of a lead. */
  identities(organization: string, { id, emails, phones }: StoredLead): Promise<StoredIdentity[]> {
    const ids = identityIds(organization, { emails, phones })
    return this.#deps.store.open(IdentityCollection, organization).find({ id: { $in: ids }, lead_id: id }, { limit: maxIdentities })
  }

  /** Stages an address or number for a lead. */
  attach(work: UnitOfWork, organization: string, lead_id: string, identity: Identity): void {
    work.in(IdentityCollection, organization).insert({ id: identityId(organization, identity), lead_id, ...identity })
  }

  /** Stages both leads as possible duplicates of each other. */
  suspect(work: UnitOfWork, organization: string, one: StoredLead, other: StoredLead): void {
    for (const [lead, id] of [
      [one, other.id],
      [other, one.id],
    ] as const) {
      if (lead.possible_duplicates.includes(id) || lead.possible_duplicates.length >= maxDuplicates) continue
      work.in(LeadCollection, organization).update(lead.id, { $addToSet: { possible_duplicates: id } })
    }
  }

  /** Stages a change against the lead as read. */
  change(work: UnitOfWork, organization: string, lead: StoredLead, change: Partial<StoredLead>): StoredLead {
    return stageRevision(work.in(LeadCollection, organization), lead, change, this.#deps.clock.now())
  }

  /** Adds to the history of a lead. */
  note(work: UnitOfWork, organization: string, change: Omit<Partial<LeadChange>, "kind"> & NoteOf): void {
    const doc = { id: this.#deps.ids.uuid(), other_lead_id: null, emails: [], phones: [], note: "", credential_id: null, ...change }
    work.in(ChangeCollection, organization).insert(doc)
  }

  newId(): string {
    return this.#deps.ids.uuid()
  }

  now(): string {
    return timestamp(this.#deps.clock.now())
  }
}
