// Makes leads of rows that were written: each about one person, kept once however often it is seen.
import { derivedUuid, type Store, token } from "#core"
import { EntryCollection } from "#core/engine"
import type { Datasets } from "../../datasets/index.ts"
import { LeadRowCollection } from "../collections.ts"
import { type PersonInRow, personIn } from "../identity.ts"
import type { Leads } from "../leads.ts"
import type { RowRef } from "./job-refs.ts"

export interface FollowerDeps {
  readonly store: Store
  readonly datasets: Datasets
  readonly leads: Leads
}

interface Written {
  readonly ref: RowRef
  readonly person: PersonInRow
}

const atOnce = 8

export class Follower {
  readonly #deps: FollowerDeps

  constructor(deps: FollowerDeps) {
    this.#deps = deps
  }

  /** Takes the rows that are there; the others, whose commit is not on disk or was refused, are returned. */
  async follow(organization: string, refs: readonly RowRef[]): Promise<RowRef[]> {
    if (refs.length === 0) return []
    const ids = [...new Set(refs.map(({ row_id }) => row_id))]
    const found = await this.#deps.datasets.rows(organization).find({ id: { $in: ids } }, { limit: ids.length })
    const rows = new Map(found.map((row) => [row.id, row]))
    const region = await this.#deps.leads.region(organization)
    // Rows of one person after each other, those of others beside them.
    const people = new Map<string, Written[]>()
    for (const ref of refs) {
      const row = rows.get(ref.row_id)
      const person = row && personIn(row.values, region)
      const key = person?.email ?? person?.phone
      if (!person || key === undefined) continue
      people.set(key, [...(people.get(key) ?? []), { ref, person }])
    }
    const waiting = [...people.values()]
    const next = async (): Promise<void> => {
      for (let written = waiting.pop(); written; written = waiting.pop()) for (const one of written) await this.#keep(organization, one)
    }
    await Promise.all(Array.from({ length: atOnce }, next))
    return refs.filter(({ row_id }) => !rows.has(row_id))
  }

  async #keep(organization: string, { ref, person }: Written): Promise<void> {
    const { dataset, row_id, execution_id, at } = ref
    const rows = this.#deps.store.open(LeadRowCollection, organization)
    const id = derivedUuid("lead row", organization, row_id, execution_id)
    if (await rows.get(id)) return
    const entry = await this.#deps.store.open(EntryCollection, organization).get(execution_id)
    // Of an event whose commit was refused, while an earlier one had made the row.
    if (entry && !entry.rows.some((written) => written.row_id === row_id)) return
    await this.#deps.leads.seen(organization, { ...person, at }, (work, identity_id) => {
      const origin = entry ? { execution_id, pipeline: entry.pipeline_slug } : { execution_id: null, pipeline: null }
      work.in(LeadRowCollection, organization).insert({ id, identity_id, at, dataset, row_id, ...origin }, { ifPresent: "keep" })
    })
  }
}

export const FollowerToken = token<Follower>("LeadFollower")
