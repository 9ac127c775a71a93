// Reads the rows of events from the journal, in the order of their events. Covers new rows and changes of keyed rows.

import { Counter } from "prom-client"
import { Clock, ClockCorrections, type Deps, Log, Store, timestamp, UnitsOfWork } from "#core"
import { EntryCollection, type JournalEntry, LateEntryCollection, lateMs, Metrics } from "#core/engine"
import { DatasetsCollection } from "../../../data/datasets/index.ts"
import { Organizations } from "../../../platform/organizations/index.ts"
import { mayNamePerson } from "../identity.ts"
import { Follower } from "./follower.ts"
import { HandoverCollection, silentMs } from "./handovers.ts"

const page = 200
/** Late entries per organization, newest first. */
const maxLate = 10_000

export class JournalRows {
  static readonly inject = {
    store: Store,
    clock: Clock,
    works: UnitsOfWork,
    organizations: Organizations,
    follower: Follower,
    corrections: ClockCorrections,
    log: Log,
    metrics: Metrics,
  }
  readonly #deps: Deps<typeof JournalRows.inject>
  readonly #read: Counter

  constructor(deps: Deps<typeof JournalRows.inject>) {
    this.#deps = deps
    this.#read = new Counter({
      name: "millrace_lead_rows_read_again_total",
      help: "Rows of events that were read from the journal again for leads, since no process had handed them over.",
      registers: [deps.metrics],
    })
  }

  /** Creates leads from rows left behind by other processes, and then removes the records of ended processes. */
  async ofOthers(process: string, signal: AbortSignal): Promise<void> {
    const { store, works, clock, log } = this.#deps
    const others = await store.open(HandoverCollection).find({ id: { $ne: process } })
    const times = others.map(({ through }) => Date.parse(through))
    if (times.length === 0) return
    const rows = await this.since(Math.min(...times), signal)
    const silent = timestamp(clock.now() - silentMs)
    const ended = others.filter(({ beat_at }) => beat_at < silent)
    await works.run((work) => {
      for (const { id, beat_at } of ended) work.in(HandoverCollection).remove(id, { where: { beat_at }, optional: true })
    })
    if (ended.length > 0) log.info({ processes: ended.length, rows }, "read the rows of ended processes again for leads")
  }

  /** Creates leads from the rows of all events received at or after the time. Returns the number of rows. */
  async since(time: number, signal: AbortSignal): Promise<number> {
    const { organizations, corrections } = this.#deps
    // Events after a clock setback have earlier times.
    const from = Math.min(time, (await corrections.setBackTo(time)) ?? time) - lateMs
    let rows = 0
    for await (const { id } of organizations.all()) rows += await this.#ofOrganization(id, from, signal)
    this.#read.inc(rows)
    return rows
  }

  async #ofOrganization(organization: string, from: number, signal: AbortSignal): Promise<number> {
    const { store } = this.#deps
    const entries = store.open(EntryCollection, organization)
    const datasets = await this.#personal(organization)
    if (datasets.size === 0) return 0
    let rows = 0
    let batch: JournalEntry[] = []
    const follow = async () => {
      signal.throwIfAborted()
      rows += await this.#follow(organization, datasets, batch)
      batch = []
    }
    for await (const entry of entries.stream({ received_at: { $gte: timestamp(from) } }, { sort: { received_at: 1 } })) {
      batch.push(entry)
      if (batch.length === page) await follow()
    }
    await follow()
    const late = store.open(LateEntryCollection, organization).stream({}, { sort: { id: -1 }, limit: maxLate })
    for await (const { id } of late) {
      const entry = await entries.get(id)
      if (entry) batch.push(entry)
      if (batch.length === page) await follow()
    }
    await follow()
    return rows
  }

  async #follow(organization: string, datasets: ReadonlySet<string>, entries: readonly JournalEntry[]): Promise<number> {
    const refs = entries.flatMap(({ id: execution_id, received_at: at, pipeline_slug: pipeline, rows }) =>
      rows.filter(({ dataset }) => datasets.has(dataset)).map(({ dataset, row_id }) => ({ dataset, row_id, execution_id, at, pipeline })),
    )
    await this.#deps.follower.follow(organization, refs)
    return refs.length
  }

  /** Returns slugs of the datasets with columns for a person. */
  async #personal(organization: string): Promise<Set<string>> {
    const slugs = new Set<string>()
    for await (const { slug, columns, class: kind } of this.#deps.store.open(DatasetsCollection, organization).stream({}))
      if (kind === "table" && mayNamePerson(Object.fromEntries(columns.map(({ name }) => [name, ""])))) slugs.add(slug)
    return slugs
  }
}
