// Makes leads of rows that were written: each about one person, kept once however often it is seen. A job's rows are read
// and committed together: one by one, leads cost more than the events that brought the rows.
import { type Collection, type Document, derivedUuidInOrder, type Store, token, type UnitOfWork } from "#core"
import { EntryCollection, type JournalEntry } from "#core/engine"
import { type Datasets, executionOf, type Row } from "../../datasets/index.ts"
import { type LeadRow, LeadRowCollection } from "../collections.ts"
import { type PersonInRow, personIn } from "../identity.ts"
import type { Leads } from "../leads.ts"
import type { RowRef } from "./job-refs.ts"

export interface FollowerDeps {
  readonly store: Store
  readonly datasets: Datasets
  readonly leads: Leads
}

/** A row that no lead has yet; `id` is that of its record. */
interface Fresh {
  readonly id: string
  readonly ref: RowRef
  readonly row: Row
}

type Origin = Pick<LeadRow, "execution_id" | "pipeline">

/** One person, by the same address and number, in some of the rows. */
interface Person extends PersonInRow {
  name: string
  time_zone: string | undefined
  at: string
  until: string
  readonly rows: Omit<LeadRow, "identity_id">[]
}

export class Follower {
  readonly #deps: FollowerDeps

  constructor(deps: FollowerDeps) {
    this.#deps = deps
  }

  /** Takes the rows that are there; the others, whose commit is not on disk or was refused, are returned. */
  async follow(organization: string, refs: readonly RowRef[]): Promise<RowRef[]> {
    if (refs.length === 0) return []
    const { datasets, leads, store } = this.#deps
    const rows = await allOf(
      datasets.rows(organization),
      refs.map(({ row_id }) => row_id),
    )
    const found = refs.flatMap((ref): Fresh[] => {
      const row = rows.get(ref.row_id)
      if (!row) return []
      // A row without a key is written once; the catch-up does not know by which event. Either id is in order of time.
      const write = row.position === undefined ? ref.row_id : ref.execution_id
      return [{ id: derivedUuidInOrder(write, "lead row", organization, ref.row_id), ref, row }]
    })
    const known = await allOf(
      store.open(LeadRowCollection, organization),
      found.map(({ id }) => id),
    )
    const fresh = found.filter(({ id }) => !known.has(id))
    const people = peopleIn(fresh, await this.#originsOf(organization, fresh), await leads.region(organization))
    await leads.seenTogether(
      organization,
      people.map(({ rows: kept, ...person }) => ({
        ...person,
        stage(work: UnitOfWork, identity_id: string) {
          const collection = work.in(LeadRowCollection, organization)
          for (const row of kept) collection.insert({ ...row, identity_id }, { ifPresent: "keep" })
        },
      })),
    )
    return refs.filter(({ row_id }) => !rows.has(row_id))
  }

  /** By the id of the fresh row; none of an event whose commit was refused, while an earlier one had made the row. */
  async #originsOf(organization: string, fresh: readonly Fresh[]): Promise<Map<string, Origin>> {
    const origins = new Map<string, Origin>()
    const asked: Fresh[] = []
    for (const one of fresh) {
      const { id, ref, row } = one
      // A row that names the event as its writer is proof of its commit.
      if (ref.pipeline && executionOf(row) === ref.execution_id) origins.set(id, { execution_id: ref.execution_id, pipeline: ref.pipeline })
      else asked.push(one)
    }
    const entries = await allOf(
      this.#deps.store.open(EntryCollection, organization),
      asked.map(({ ref }) => ref.execution_id),
    )
    for (const one of asked) {
      const origin = originOf(one, entries.get(one.ref.execution_id))
      if (origin) origins.set(one.id, origin)
    }
    return origins
  }
}

function originOf({ ref, row }: Fresh, entry: JournalEntry | undefined): Origin | undefined {
  if (!entry) return { execution_id: null, pipeline: null }
  // A row without a key is of one event alone, though a replay of it may have written it.
  const isOfEvent = row.position === undefined || entry.rows.some(({ row_id }) => row_id === ref.row_id)
  return isOfEvent ? { execution_id: entry.id, pipeline: entry.pipeline_slug } : undefined
}

function peopleIn(fresh: readonly Fresh[], origins: ReadonlyMap<string, Origin>, region: string): Person[] {
  const people = new Map<string, Person>()
  for (const { id, ref, row } of fresh) {
    const origin = origins.get(id)
    const said = origin && personIn(row.values, region)
    if (!said || (said.email === undefined && said.phone === undefined)) continue
    const { at, dataset, row_id } = ref
    const key = JSON.stringify([said.email, said.phone])
    const person: Person = people.get(key) ?? { ...said, at, until: at, rows: [] }
    people.set(key, person)
    person.name ||= said.name
    if (said.time_zone && at >= person.until) person.time_zone = said.time_zone
    if (at < person.at) person.at = at
    if (at > person.until) person.until = at
    person.rows.push({ id, at, dataset, row_id, ...origin })
  }
  return [...people.values()]
}

/** The documents of the ids that are there. */
async function allOf<D extends Document>(collection: Collection<D>, ids: readonly string[]): Promise<Map<string, D>> {
  const wanted = [...new Set(ids)]
  if (wanted.length === 0) return new Map()
  const found = await collection.find({ id: { $in: wanted } }, { limit: wanted.length })
  return new Map(found.map((document) => [document.id, document]))
}

export const FollowerToken = token<Follower>("LeadFollower")
