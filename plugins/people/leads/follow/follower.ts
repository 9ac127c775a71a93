// Creates leads from written rows: one lead per person across all rows. The rows of a job are read and committed together.
// Processed singly, leads would cost more than the events of the rows.
import { type Deps, Store, type UnitOfWork } from "#core"
import { Datasets } from "../../../data/datasets/index.ts"
import { type LeadRow, LeadRowCollection } from "../collections.ts"
import { type PersonInRow, personIn } from "../identity.ts"
import { Leads } from "../leads.ts"
import { allOf, type Fresh, type Origin, originsOf, recordIdOf, type SeenRow } from "./origins.ts"

/** A person in several rows, identified by the same address and number. */
interface Person extends PersonInRow {
  name: string
  time_zone: string | undefined
  at: string
  until: string
  readonly rows: Omit<LeadRow, "identity_id">[]
}

export class Follower {
  static readonly inject = { store: Store, datasets: Datasets, leads: Leads }
  readonly #deps: Deps<typeof Follower.inject>

  constructor(deps: Deps<typeof Follower.inject>) {
    this.#deps = deps
  }

  /** Processes the rows found in the store. Returns the other rows: their commit is pending or was refused. */
  async follow<R extends SeenRow>(organization: string, refs: readonly R[]): Promise<R[]> {
    if (refs.length === 0) return []
    const { datasets, leads, store } = this.#deps
    const rows = await allOf(
      datasets.rows(organization),
      refs.map(({ row_id }) => row_id),
    )
    const found = refs.flatMap((ref): Fresh[] => {
      const row = rows.get(ref.row_id)
      return row ? [{ id: recordIdOf(organization, ref, row), ref, row }] : []
    })
    const known = await allOf(
      store.open(LeadRowCollection, organization),
      found.map(({ id }) => id),
    )
    const fresh = found.filter(({ id }) => !known.has(id))
    const people = peopleIn(fresh, await originsOf(store, organization, fresh), await leads.region(organization))
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
