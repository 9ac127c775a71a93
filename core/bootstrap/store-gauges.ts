// Gauges with values from the store: jobs, and the nodes of a cluster. A scrape waits for the store only briefly. Late values are
// left out, and `millrace_metrics_from_store` reports it.
import { Gauge } from "prom-client"
import { nodeKeptMs, nodes } from "../cluster/collections.ts"
import type { Metrics } from "../contract/metrics.ts"
import type { Store } from "../contract/store.ts"
import { JobCollection } from "../jobs/jobs-collection.ts"
import { type Clock, giveUpAfter, timestamp } from "../kernel/clock.ts"

/** Maximum count. A scrape must be cheap, and higher numbers indicate trouble anyway. */
const maxCounted = 10_000
/** A node without a renewal of its lease for this long is not counted. */
const silentMs = 30_000
/** Timeout of all reads of a scrape together. */
const waitMs = 500

export interface StoreGaugesArgs {
  readonly store: Store
  readonly clock: Clock
  readonly metrics: Metrics
  /** Types of jobs that may be overdue. */
  readonly types: readonly string[]
  /** Id of this process, for scrapes of several nodes behind one address. */
  readonly node: string
  /** True if several nodes may share the store. */
  readonly clustered: boolean
}

interface Figures {
  readonly jobs: ReadonlyMap<string, number>
  readonly overdue: ReadonlyMap<string, number>
  readonly nodes: number
}

/** Registers the gauges. Every node reports the same values of the store, so use the maximum over nodes. */
export function measureStore(args: StoreGaugesArgs): void {
  const { clock, metrics, node } = args
  let reading: Promise<Figures | undefined> | undefined
  const figures = () => {
    // Gauges of one scrape share one reading. A hanging reading is not repeated.
    reading ??= readFigures(args)
      .catch(() => undefined)
      .finally(() => {
        reading = undefined
      })
    return within(clock, reading)
  }
  const gauge = (name: string, help: string, label: string, values: (figures: Figures) => ReadonlyMap<string, number>) =>
    new Gauge({
      name,
      help,
      labelNames: [label],
      aggregator: "max",
      registers: [metrics],
      async collect() {
        const found = await figures()
        this.reset()
        if (found) for (const [value, count] of values(found)) this.set({ [label]: value }, count)
      },
    })
  gauge(
    "millrace_jobs",
    `Jobs in the store by state (dead: all attempts failed), counted up to ${maxCounted}. Every node reports all jobs: use max, not sum.`,
    "state",
    ({ jobs }) => jobs,
  )
  gauge(
    "millrace_jobs_overdue_seconds",
    "Age of the oldest overdue job that no node holds, by job type; 0 if there is none. Every node reports the same: use max.",
    "type",
    ({ overdue }) => overdue,
  )
  new Gauge({
    name: "millrace_nodes",
    help: "Nodes that share the store and renew their lease, this one included. Every node reports all nodes: use max.",
    aggregator: "max",
    registers: [metrics],
    async collect() {
      const found = await figures()
      this.reset()
      if (found) this.set(found.nodes)
      else this.remove()
    },
  })
  new Gauge({
    name: "millrace_metrics_from_store",
    help: "1 if the store answered this scrape in time; 0 if metrics that come from the store are left out.",
    aggregator: "min",
    registers: [metrics],
    async collect() {
      this.set((await figures()) ? 1 : 0)
    },
  })
  new Gauge({
    name: "millrace_node_info",
    help: "Always 1; the label is the id of this node.",
    labelNames: ["node"],
    registers: [metrics],
  }).set({ node }, 1)
}

async function readFigures({ store, clock, types, clustered }: StoreGaugesArgs): Promise<Figures> {
  const jobs = store.open(JobCollection)
  const bounds = { deadlineMs: waitMs }
  const now = clock.now()
  const states = ["queued", "dead"].map(async (state) => [state, await jobs.count({ state }, { limit: maxCounted, ...bounds })] as const)
  const overdue = types.map(async (type) => {
    const oldest = await jobs.first({ state: "queued", type, run_at: { $lte: timestamp(now) } }, { sort: { run_at: 1 }, ...bounds })
    return [type, oldest ? (now - Date.parse(oldest.run_at)) / 1_000 : 0] as const
  })
  const live = clustered
    ? store.open(nodes).count({ expires_at: { $gt: timestamp(now + nodeKeptMs - silentMs) } }, bounds)
    : Promise.resolve(1)
  return { jobs: new Map(await Promise.all(states)), overdue: new Map(await Promise.all(overdue)), nodes: await live }
}

/** Resolves to undefined after the timeout of a scrape. */
async function within<T>(clock: Clock, reading: Promise<T | undefined>): Promise<T | undefined> {
  let cancel = () => {}
  const late = new Promise<undefined>((resolve) => {
    cancel = giveUpAfter(clock, waitMs, () => resolve(undefined))
  })
  try {
    return await Promise.race([reading, late])
  } finally {
    cancel()
  }
}
