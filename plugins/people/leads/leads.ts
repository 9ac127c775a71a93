// The leads of an organization: found by address and number, created at first contact.
import { AppError, type Deps, isConflict, Store, type UnitOfWork, UnitsOfWork } from "#core"
import {
  IdentityCollection,
  identityId,
  LeadCollection,
  LeadSettingsCollection,
  leadIdOf,
  type StoredLead,
  settingsId,
} from "./collections.ts"
import type { Identity } from "./identity.ts"
import { LeadRecords, maxIdentities } from "./records.ts"

/** Limit of merged leads in a timeline. */
const maxFamily = 200
/** People in one commit. */
const maxTogether = 100

export interface LeadDeps extends Deps<typeof Leads.inject> {
  readonly defaultRegion: string
}

export interface Sighting {
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly name: string
  /** IANA, if known. */
  readonly time_zone?: string | undefined
  /** RFC 3339. */
  readonly at: string
  /** Time of the last contact, if there were several. */
  readonly until?: string
}

/** A sighting, and writes for the same commit. */
export interface Seen extends Sighting {
  readonly stage?: (work: UnitOfWork, identity: string) => void
}

export class Leads {
  static readonly inject = { store: Store, works: UnitsOfWork, records: LeadRecords }
  readonly #deps: LeadDeps
  readonly #records: LeadRecords

  constructor(deps: LeadDeps) {
    this.#deps = deps
    this.#records = deps.records
  }

  /** Returns the current lead of a UUID or reference. Follows merges. Throws `not_found`. */
  async require(organization: string, ref: string): Promise<StoredLead> {
    const found = await this.find(organization, ref)
    if (found) return found
    throw new AppError("not_found", `The organization has no lead ${JSON.stringify(ref.slice(0, 60))}; GET /v1/leads lists them.`, {
      reason: "lead_not_found",
    })
  }

  async find(organization: string, ref: string): Promise<StoredLead | undefined> {
    const id = leadIdOf(ref)
    return id === undefined ? undefined : this.#canonical(organization, id)
  }

  /** Returns lead ids for addresses and numbers, in the same order. Follows merges. */
  async idsOf(organization: string, identities: readonly Identity[]): Promise<(string | undefined)[]> {
    const ids = identities.map((identity) => identityId(organization, identity))
    const found = await this.#deps.store
      .open(IdentityCollection, organization)
      .find({ id: { $in: ids } }, { limit: Math.max(1, ids.length) })
    const leadIds = new Map(found.map(({ id, lead_id }) => [id, lead_id]))
    return ids.map((id) => leadIds.get(id))
  }

  /** Returns the leads of addresses and numbers, in the same order. */
  async ofIdentities(organization: string, identities: readonly Identity[]): Promise<(StoredLead | undefined)[]> {
    const ids = await this.idsOf(organization, identities)
    const wanted = [...new Set(ids.filter((id) => id !== undefined))]
    if (wanted.length === 0) return ids.map(() => undefined)
    const leads = await this.#deps.store.open(LeadCollection, organization).find({ id: { $in: wanted } }, { limit: wanted.length })
    const byId = new Map(leads.map((lead) => [lead.id, lead]))
    return ids.map((id) => byId.get(id ?? ""))
  }

  /** Returns the ids of the lead and of all leads merged into it. */
  async family(organization: string, { id }: StoredLead): Promise<string[]> {
    const leads = this.#deps.store.open(LeadCollection, organization)
    const ids = [id]
    for (let level = ids; level.length > 0 && ids.length < maxFamily; ) {
      const merged = await leads.find({ merged_into: { $in: level } }, { limit: maxFamily })
      level = merged.map((lead) => lead.id)
      ids.push(...level)
    }
    return ids
  }

  /** Returns the default country for numbers without a country code. */
  async region(organization: string): Promise<string> {
    const kept = await this.#deps.store.open(LeadSettingsCollection, organization).get(settingsId(organization))
    return kept?.default_region ?? this.#deps.defaultRegion
  }

  setRegion(work: UnitOfWork, organization: string, default_region: string): void {
    const $set = { default_region, updated_at: this.#records.now() }
    work.in(LeadSettingsCollection, organization).update(settingsId(organization), { $set }, { upsert: true })
  }

  /**
   * Finds or creates the lead of a sighting. `stage` adds to the same commit. The address decides. A number alone does not join
   * two addresses: the leads become possible duplicates of each other.
   */
  async seen(organization: string, seen: Seen): Promise<void> {
    const identities = identitiesOf(seen)
    if (identities.length === 0) return
    await this.#deps.works.retryConflicts(async (work) => {
      const leads = await this.ofIdentities(organization, identities)
      this.#stageSeen(work, organization, seen, identities, leads)
      stageMore(work, organization, seen, identities)
    })
  }

  /** As `seen`, for many sightings in one read and commit. After a conflict, processes them one by one. */
  async seenTogether(organization: string, all: readonly Seen[]): Promise<void> {
    for (let left = all; left.length > 0; ) {
      const together = left.slice(0, maxTogether)
      left = [...(await this.#together(organization, together)), ...left.slice(maxTogether)]
    }
  }

  /** Commits sightings of different people together. Returns further sightings of the same people. */
  async #together(organization: string, all: readonly Seen[]): Promise<Seen[]> {
    const identities = all.map(identitiesOf)
    const leads = await this.ofIdentities(organization, identities.flat())
    const touched = new Set<string>()
    const later: Seen[] = []
    const now = all.flatMap((seen, index) => {
      const own = identities[index] ?? []
      const known = leads.splice(0, own.length)
      const names = [...own.map((identity) => identityId(organization, identity)), ...known.flatMap((lead) => (lead ? [lead.id] : []))]
      if (names.some((name) => touched.has(name))) {
        later.push(seen)
        return []
      }
      for (const name of names) touched.add(name)
      return own.length > 0 ? [{ seen, own, known }] : []
    })
    try {
      await this.#deps.works.run((work) => {
        for (const { seen, own, known } of now) {
          this.#stageSeen(work, organization, seen, own, known)
          stageMore(work, organization, seen, own)
        }
      })
    } catch (error) {
      if (!isConflict(error)) throw error
      for (const { seen } of now) await this.seen(organization, seen)
    }
    return later
  }

  /**
   * As `seen`, in the unit of work of a call. Returns the resulting lead. Of two concurrent calls, the second fails with
   * `aborted` or `already_exists`.
   */
  async add(work: UnitOfWork, organization: string, given: Omit<Sighting, "at">): Promise<StoredLead> {
    const identities = identitiesOf(given)
    const leads = await this.ofIdentities(organization, identities)
    return this.#stageSeen(work, organization, { ...given, at: this.#records.now() }, identities, leads)
  }

  /** Stages a sighting. `leads`: the leads of the identities, in the same order. */
  #stageSeen(
    work: UnitOfWork,
    organization: string,
    { name, time_zone, at, until = at }: Sighting,
    identities: readonly Identity[],
    leads: readonly (StoredLead | undefined)[],
  ): StoredLead {
    const lead = ownerOf(identities, leads)
    const others = [...new Set(leads)].filter((one) => one !== undefined).filter((one) => one !== lead)
    const missing = identities.filter((_, index) => leads[index] === undefined)
    if (!lead) return this.#create(work, organization, { name, time_zone: time_zone ?? "", at, until, identities: missing, others })
    for (const other of others) this.#records.suspect(work, organization, lead, other)
    const left = maxIdentities - lead.emails.length - lead.phones.length
    const added = missing.slice(0, Math.max(0, left))
    for (const identity of added) this.#records.attach(work, organization, lead.id, identity)
    const $set: Partial<StoredLead> = {
      ...(until > lead.last_seen_at ? { last_seen_at: until } : {}),
      ...(at < lead.first_seen_at ? { first_seen_at: at } : {}),
      ...(lead.name === "" && name !== "" ? { name } : {}),
      ...(time_zone && time_zone !== lead.time_zone && until >= lead.last_seen_at ? { time_zone } : {}),
      ...(added.length === 0 ? {} : withIdentities(lead, added)),
    }
    return Object.keys($set).length > 0 ? this.#records.change(work, organization, lead, $set) : lead
  }

  #create(
    work: UnitOfWork,
    organization: string,
    given: Pick<StoredLead, "name" | "time_zone"> & {
      at: string
      until: string
      identities: readonly Identity[]
      others: readonly StoredLead[]
    },
  ): StoredLead {
    const { name, time_zone, at, until, identities, others } = given
    const now = this.#records.now()
    const known = withIdentities({ emails: [], phones: [] }, identities)
    const lead: StoredLead = {
      id: this.#records.newId(),
      name,
      ...known,
      created_with: { at, ...known },
      time_zone: time_zone ?? "",
      merged_into: null,
      possible_duplicates: others.map(({ id }) => id),
      first_seen_at: at,
      last_seen_at: until,
      revision: 1,
      created_at: now,
      updated_at: now,
    }
    work.in(LeadCollection, organization).insert(lead)
    for (const identity of identities) this.#records.attach(work, organization, lead.id, identity)
    for (const other of others) this.#records.suspect(work, organization, lead, other)
    return lead
  }

  async #canonical(organization: string, id: string): Promise<StoredLead | undefined> {
    const leads = this.#deps.store.open(LeadCollection, organization)
    let lead = await leads.get(id)
    // Each merge adds a step. The chain has no cycle, because a merged lead is never the target of a merge.
    while (lead?.merged_into) lead = await leads.get(lead.merged_into)
    return lead
  }
}

/** Returns the lead of the address. Without an address lead, returns the number's lead unless that lead has another address. */
function ownerOf(identities: readonly Identity[], leads: readonly (StoredLead | undefined)[]): StoredLead | undefined {
  const address = identities.findIndex(({ kind }) => kind === "email")
  const byAddress = leads[address]
  if (byAddress || address < 0) return byAddress ?? leads[0]
  return leads.find((lead) => lead?.emails.length === 0)
}

function stageMore(work: UnitOfWork, organization: string, { stage }: Seen, [first]: readonly Identity[]): void {
  if (first) stage?.(work, identityId(organization, first))
}

function identitiesOf({ email, phone }: Pick<Sighting, "email" | "phone">): Identity[] {
  return [
    ...(email === undefined ? [] : [{ kind: "email" as const, value: email }]),
    ...(phone === undefined ? [] : [{ kind: "phone" as const, value: phone }]),
  ]
}

function withIdentities(lead: Pick<StoredLead, "emails" | "phones">, added: readonly Identity[]): Pick<StoredLead, "emails" | "phones"> {
  const of = (kind: Identity["kind"]) => added.flatMap((one) => (one.kind === kind ? [one.value] : []))
  return { emails: [...lead.emails, ...of("email")], phones: [...lead.phones, ...of("phone")] }
}
