// Rows that no process has handed over: of events, from the journal; and rows from before leads were kept, from each
// dataset. A dataset is read from where the last time ended, in the order in which its rows were made.
import { Clock, ClockCorrections, type Deps, type Document, defineCollection, Store, timestamp, UnitsOfWork } from "#core"
import { type Dataset, Datasets, DatasetsCollection, executionOf } from "../../../data/datasets/index.ts"
import { Organizations } from "../../../platform/organizations/index.ts"
import { mayNamePerson } from "../identity.ts"
import { Follower } from "./follower.ts"
import { JournalRows } from "./journal.ts"
import { RowBuffer } from "./row-buffer.ts"

/** Rows are made with the time at which their event was received, and may be on disk this much later. */
const overlapMs = 600_000
const page = 200
/** Rows of one dataset in one run; the next run goes on. */
const maxRows = 20_000

/** How far the rows of a dataset were read; `id` is the dataset's. */
interface Followed extends Document {
  until: string
}

export const FollowedCollection = defineCollection<Followed>()({
  name: "lead_followed_datasets",
  scope: "organization",
  times: ["until"],
  indexes: [],
  audit: "none",
  statistics: true,
})

export class CatchUp {
  static readonly inject = {
    store: Store,
    clock: Clock,
    works: UnitsOfWork,
    datasets: Datasets,
    organizations: Organizations,
    follower: Follower,
    journal: JournalRows,
    rows: RowBuffer,
    corrections: ClockCorrections,
  }
  readonly #deps: Deps<typeof CatchUp.inject>

  constructor(deps: Deps<typeof CatchUp.inject>) {
    this.#deps = deps
  }

  async run(signal: AbortSignal): Promise<void> {
    const { journal, rows } = this.#deps
    await journal.ofOthers(rows.process, signal)
    for await (const { id } of this.#deps.organizations.all()) {
      const datasets = this.#deps.store.open(DatasetsCollection, id).stream({})
      for await (const dataset of datasets) {
        signal.throwIfAborted()
        const columns = Object.fromEntries(dataset.columns.map(({ name }) => [name, ""]))
        if (dataset.class === "table" && mayNamePerson(columns)) await this.#dataset(id, dataset, signal)
      }
    }
  }

  async #dataset(organization: string, { id, slug }: Dataset, signal: AbortSignal): Promise<void> {
    const { store, clock, works, datasets, follower } = this.#deps
    const kept = await store.open(FollowedCollection, organization).get(id)
    const rows = datasets.rows(organization)
    let until = kept?.until ?? ""
    const start = clock.now()
    const from = until === "" ? "" : timestamp((await this.#passedOnce(until)) - overlapMs)
    let after: [string, string] | undefined
    for (let read = 0; read < maxRows; read += page) {
      signal.throwIfAborted()
      const filter = { dataset_id: id, ...(from === "" ? {} : { created_at: { $gte: from } }) }
      const found = await rows.find(filter, { sort: { created_at: 1, id: 1 }, limit: page, ...(after ? { after } : {}) })
      const last = found.at(-1)
      if (last) {
        await follower.follow(
          organization,
          found.map((row) => ({ dataset: slug, row_id: row.id, execution_id: executionOf(row), at: row.created_at })),
        )
        until = last.created_at
        after = [last.created_at, last.id]
      }
      if (found.length < page) {
        // Nothing older comes later than the overlap.
        until = timestamp(start)
        break
      }
    }
    if (until === "") return
    const $set = { until }
    await works.run((work) => work.in(FollowedCollection, organization).update(id, { $set }, { upsert: true }))
  }

  /** That time, or an earlier one to which the clock was set back since. */
  async #passedOnce(until: string): Promise<number> {
    const time = Date.parse(until)
    return Math.min(time, (await this.#deps.corrections.setBackTo(time)) ?? time)
  }
}
