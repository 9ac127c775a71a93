// The leads of an organization: found by address and number, made when somebody is first seen, merged and split by hand.
import { AppError, type Clock, type Ids, type Json, type Store, timestamp, token, type UnitOfWork, type UnitsOfWork } from "#core"
import {
  ChangeCollection,
  type changeKinds,
  IdentityCollection,
  identityId,
  type LeadChange,
  LeadCollection,
  LeadSettingsCollection,
  type StoredIdentity,
  type StoredLead,
  settingsId,
} from "./collections.ts"
import type { Identity } from "./identity.ts"
import { leadIdOf } from "./reference.ts"

const maxIdentities = 100
const maxDuplicates = 20
/** Leads that one is made of, whose history its timeline shows. */
const maxFamily = 200
/** Two that make a lead of one address at once: the second finds what the first made. */
const maxRaces = 5

export interface LeadDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly works: UnitsOfWork
  readonly defaultRegion: string
}

export interface Sighting {
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly name: string
  /** RFC 3339. */
  readonly at: string
}

export interface ByHand {
  readonly note: string
  readonly credential_id: string
}

export class Leads {
  readonly #deps: LeadDeps

  constructor(deps: LeadDeps) {
    this.#deps = deps
  }

  /** The lead that a UUID or reference stands for now, merges followed. Throws `not_found`. */
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

  /** The leads of addresses and numbers, in their order. */
  async ofIdentities(organization: string, identities: readonly Identity[]): Promise<(StoredLead | undefined)[]> {
    const ids = identities.map((identity) => identityId(organization, identity))
    const found = await this.#deps.store
      .open(IdentityCollection, organization)
      .find({ id: { $in: ids } }, { limit: Math.max(1, ids.length) })
    const leadIds = new Map(found.map(({ id, lead_id }) => [id, lead_id]))
    const leads = await this.#deps.store
      .open(LeadCollection, organization)
      .find({ id: { $in: [...new Set(leadIds.values())] } }, { limit: Math.max(1, leadIds.size) })
    return ids.map((id) => leads.find((lead) => lead.id === leadIds.get(id)))
  }

  /** Ids of the lead and of all that were merged into it. */
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

  /** The country of numbers without a country code. */
  async region(organization: string): Promise<string> {
    const kept = await this.#deps.store.open(LeadSettingsCollection, organization).get(settingsId(organization))
    return kept?.default_region ?? this.#deps.defaultRegion
  }

  setRegion(work: UnitOfWork, organization: string, default_region: string): void {
    const $set = { default_region, updated_at: timestamp(this.#deps.clock.now()) }
    work.in(LeadSettingsCollection, organization).update(settingsId(organization), { $set }, { upsert: true })
  }

  /**
   * The lead of somebody who was seen, made where there is none; `stage` adds to the same commit. Of an address and a number
   * that are two leads', the address decides, and each lead names the other as a possible duplicate.
   */
  async seen(
    organization: string,
    sighting: Sighting,
    stage: (work: UnitOfWork, identity: string) => void = () => undefined,
  ): Promise<void> {
    const identities = identitiesOf(sighting)
    const [first] = identities
    if (!first) return
    for (let race = 1; ; race++) {
      try {
        return await this.#deps.works.run(async (work) => {
          await this.#stageSeen(work, organization, sighting, identities)
          stage(work, identityId(organization, first))
        })
      } catch (error) {
        const lost = error instanceof AppError && (error.code === "already_exists" || error.code === "aborted")
        if (!lost || race === maxRaces) throw error
      }
    }
  }

  /** As `seen`, in a call's own work; the lead as it is then. Of two at once one is `aborted` or `already_exists`. */
  async add(work: UnitOfWork, organization: string, given: Omit<Sighting, "at">): Promise<StoredLead> {
    return this.#stageSeen(work, organization, { ...given, at: timestamp(this.#deps.clock.now()) }, identitiesOf(given))
  }

  async #stageSeen(work: UnitOfWork, organization: string, { name, at }: Sighting, identities: readonly Identity[]): Promise<StoredLead> {
    const leads = await this.ofIdentities(organization, identities)
    const lead = leads.find((one) => one !== undefined)
    const others = [...new Set(leads)].filter((one) => one !== undefined && one !== lead)
    const missing = identities.filter((_, index) => leads[index] === undefined)
    if (!lead) return this.#create(work, organization, { name, at, identities })
    for (const other of others) if (other) this.#suspect(work, organization, lead, other)
    const room = maxIdentities - lead.emails.length - lead.phones.length
    const added = missing.slice(0, Math.max(0, room))
    for (const identity of added) this.#attach(work, organization, lead.id, identity)
    const $set: Partial<StoredLead> = {
      ...(at > lead.last_seen_at ? { last_seen_at: at } : {}),
      ...(at < lead.first_seen_at ? { first_seen_at: at } : {}),
      ...(lead.name === "" && name !== "" ? { name } : {}),
      ...(added.length === 0 ? {} : withIdentities(lead, added)),
    }
    return Object.keys($set).length > 0 ? this.#change(work, organization, lead, $set) : lead
  }

  #create(
    work: UnitOfWork,
    organization: string,
    { name, at, identities }: { name: string; at: string; identities: readonly Identity[] },
  ): StoredLead {
    const { ids, clock } = this.#deps
    const now = timestamp(clock.now())
    const empty = { emails: [], phones: [] }
    const lead: StoredLead = {
      id: ids.uuid(),
      name,
      ...withIdentities(empty, identities),
      merged_into: null,
      possible_duplicates: [],
      first_seen_at: at,
      last_seen_at: at,
      revision: 1,
      created_at: now,
      updated_at: now,
    }
    work.in(LeadCollection, organization).insert(lead)
    for (const identity of identities) this.#attach(work, organization, lead.id, identity)
    this.#note(work, organization, { lead_id: lead.id, kind: "created", at, ...withIdentities(empty, identities) })
    return lead
  }

  /** Stages that `from` is part of `into`; both as they are now. Throws `failed_precondition`. */
  async merge(work: UnitOfWork, organization: string, into: StoredLead, from: StoredLead, by: ByHand): Promise<StoredLead> {
    if (into.id === from.id) throw mergeRefused("is this lead already")
    const emails = [...new Set([...into.emails, ...from.emails])]
    const phones = [...new Set([...into.phones, ...from.phones])]
    if (emails.length + phones.length > maxIdentities) throw mergeRefused(`would give it more than ${maxIdentities} addresses and numbers`)
    for (const { id } of await this.#identities(organization, from.id)) {
      work.in(IdentityCollection, organization).update(id, { $set: { lead_id: into.id } }, { where: { lead_id: from.id } })
    }
    this.#change(work, organization, from, { merged_into: into.id, emails: [], phones: [], possible_duplicates: [] })
    const moved = { emails: from.emails, phones: from.phones, ...by }
    const at = timestamp(this.#deps.clock.now())
    this.#note(work, organization, { lead_id: into.id, kind: "merged", at, other_lead_id: from.id, ...moved })
    this.#note(work, organization, { lead_id: from.id, kind: "merged_into", at, other_lead_id: into.id, ...moved })
    return this.#change(work, organization, into, {
      emails,
      phones,
      name: into.name || from.name,
      possible_duplicates: into.possible_duplicates.filter((id) => id !== from.id),
      first_seen_at: inOrder(into.first_seen_at, from.first_seen_at)[0],
      last_seen_at: inOrder(into.last_seen_at, from.last_seen_at)[1],
    })
  }

  /** Stages a lead of its own for some addresses and numbers, with what happened to these. Throws `failed_precondition`. */
  async split(
    work: UnitOfWork,
    organization: string,
    lead: StoredLead,
    taken: Pick<StoredLead, "emails" | "phones">,
    by: ByHand,
  ): Promise<{ lead: StoredLead; split_off: StoredLead }> {
    const strangers = [
      ...taken.emails.filter((one) => !lead.emails.includes(one)).map((one) => ({ path: "emails", one })),
      ...taken.phones.filter((one) => !lead.phones.includes(one)).map((one) => ({ path: "phones", one })),
    ]
    const [stranger] = strangers
    if (stranger) throw splitRefused(stranger.path, `${stranger.one} is not the lead's`)
    const rest = {
      emails: lead.emails.filter((one) => !taken.emails.includes(one)),
      phones: lead.phones.filter((one) => !taken.phones.includes(one)),
    }
    if (taken.emails.length + taken.phones.length === 0) throw splitRefused("emails", "and phones are empty; name what to split off")
    if (rest.emails.length + rest.phones.length === 0) throw splitRefused("emails", "and phones are all that the lead has")
    const at = timestamp(this.#deps.clock.now())
    const split_off: StoredLead = {
      ...lead,
      ...taken,
      id: this.#deps.ids.uuid(),
      name: "",
      possible_duplicates: [],
      revision: 1,
      created_at: at,
      updated_at: at,
    }
    work.in(LeadCollection, organization).insert(split_off)
    for (const { id, kind, value } of await this.#identities(organization, lead.id)) {
      if (!(kind === "email" ? taken.emails : taken.phones).includes(value)) continue
      work.in(IdentityCollection, organization).update(id, { $set: { lead_id: split_off.id } }, { where: { lead_id: lead.id } })
    }
    this.#note(work, organization, { lead_id: lead.id, kind: "split", at, other_lead_id: split_off.id, ...taken, ...by })
    this.#note(work, organization, { lead_id: split_off.id, kind: "split_off", at, other_lead_id: lead.id, ...taken, ...by })
    return { lead: this.#change(work, organization, lead, rest), split_off }
  }

  /** Stages that an address or number is nobody's any more, and stands in no history; the lead that has nothing else loses its name. */
  async forget(work: UnitOfWork, organization: string, identity: Identity): Promise<void> {
    const { store } = this.#deps
    const [lead] = await this.ofIdentities(organization, [identity])
    if (!lead) return
    const field = identity.kind === "email" ? "emails" : "phones"
    const others = lead.emails.length + lead.phones.length - 1
    const kept = { [field]: lead[field].filter((value) => value !== identity.value) }
    this.#change(work, organization, lead, { ...kept, ...(others === 0 ? { name: "" } : {}) })
    work.in(IdentityCollection, organization).remove(identityId(organization, identity))
    const changes = store.open(ChangeCollection, organization).stream({ lead_id: { $in: await this.family(organization, lead) } })
    for await (const { id } of changes) work.in(ChangeCollection, organization).update(id, { $pull: { [field]: identity.value } })
  }

  async #canonical(organization: string, id: string): Promise<StoredLead | undefined> {
    const leads = this.#deps.store.open(LeadCollection, organization)
    let lead = await leads.get(id)
    // Each merge adds one, and none leads back: a lead that is part of another is never merged into.
    while (lead?.merged_into) lead = await leads.get(lead.merged_into)
    return lead
  }

  #identities(organization: string, lead_id: string): Promise<StoredIdentity[]> {
    return this.#deps.store.open(IdentityCollection, organization).find({ lead_id }, { limit: maxIdentities })
  }

  #attach(work: UnitOfWork, organization: string, lead_id: string, identity: Identity): void {
    work.in(IdentityCollection, organization).insert({ id: identityId(organization, identity), lead_id, ...identity })
  }

  #suspect(work: UnitOfWork, organization: string, one: StoredLead, other: StoredLead): void {
    for (const [lead, id] of [
      [one, other.id],
      [other, one.id],
    ] as const) {
      if (lead.possible_duplicates.includes(id) || lead.possible_duplicates.length >= maxDuplicates) continue
      work.in(LeadCollection, organization).update(lead.id, { $addToSet: { possible_duplicates: id } })
    }
  }

  #change(work: UnitOfWork, organization: string, lead: StoredLead, change: Partial<StoredLead>): StoredLead {
    const after = { ...lead, ...change, updated_at: timestamp(this.#deps.clock.now()), revision: lead.revision + 1 }
    const $set = { ...change, updated_at: after.updated_at, revision: after.revision } as Record<string, Json>
    work.in(LeadCollection, organization).update(lead.id, { $set }, { where: { revision: lead.revision } })
    return after
  }

  #note(work: UnitOfWork, organization: string, change: Omit<Partial<LeadChange>, "kind"> & NoteOf): void {
    const doc = { id: this.#deps.ids.uuid(), other_lead_id: null, emails: [], phones: [], note: "", credential_id: null, ...change }
    work.in(ChangeCollection, organization).insert(doc)
  }
}

interface NoteOf {
  readonly lead_id: string
  readonly kind: (typeof changeKinds)[number]
  readonly at: string
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

function inOrder(one: string, other: string): [string, string] {
  return one < other ? [one, other] : [other, one]
}

function mergeRefused(problem: string): AppError {
  return new AppError("failed_precondition", `other_lead_id ${problem}.`, {
    reason: "lead_merge_refused",
    fields: [{ path: "other_lead_id", message: problem }],
  })
}

function splitRefused(path: string, problem: string): AppError {
  return new AppError("failed_precondition", `${path}: ${problem}.`, {
    reason: "lead_split_refused",
    fields: [{ path, message: problem }],
  })
}

export const LeadsToken = token<Leads>("Leads")
