// Finds rows missed by all processes. Rows of events come from the journal. Rows older than the leads feature come from each
// dataset. A dataset is read from the last position, in the order of creation.
import { Clock, ClockCorrections, type Deps, type Document, defineCollection, Store, timestamp, UnitsOfWork } from "#core"
import { type Dataset, Datasets, DatasetsCollection, executionOf } from "../../../data/datasets/index.ts"
import { Organizations } from "../../../platform/organizations/index.ts"
import { mayNamePerson } from "../identity.ts"
import { Follower } from "./follower.ts"
import { JournalRows } from "./journal.ts"
import { RowBuffer } from "./row-buffer.ts"

/** A row has the time of its event's receipt, and may reach the disk this much later. */
const overlapMs = 600_000
const page = 200
/** Rows per dataset and run. The next run continues. */
const maxRows = 20_000

/** Read position in a dataset. `id` is the dataset's id. */
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
        // Older rows cannot arrive after the overlap.
        until = timestamp(start)
        break
      }
    }
    if (until === "") return
    const $set = { until }
    await works.run((work) => work.in(FollowedCollection, organization).update(id, { $set }, { upsert: true }))
  }

  /** Returns the time, or an earlier time if the clock was set back since. */
  async #passedOnce(until: string): Promise<number> {
    const time = Date.parse(until)
    return Math.min(time, (await this.#deps.corrections.setBackTo(time)) ?? time)
  }
}
