// Which store, from the configuration: the embedded SQLite file by default, MongoDB by URL; and with it how nodes keep
// each other current.
import { join } from "node:path"
import { Counter, Histogram } from "prom-client"
import { createClusterCoherence } from "../cluster/cluster.ts"
import { clusterCollections } from "../cluster/collections.ts"
import { createLeases, type Leases } from "../cluster/leases.ts"
import { createLocalCoherence } from "../cluster/local.ts"
import { Coherence, type CommitFeed } from "../contract/coherence.ts"
import { type CollectionSpec, Collections } from "../contract/collection.ts"
import { Metrics } from "../contract/metrics.ts"
import { Store } from "../contract/store.ts"
import { Clock } from "../kernel/clock.ts"
import { BootError, Settings } from "../kernel/config.ts"
import { type Container, token } from "../kernel/di.ts"
import { Ids } from "../kernel/ids.ts"
import { Log, type Logger } from "../kernel/log.ts"
import type { Registry } from "../kernel/registry.ts"
import type { GroupCommitLimits } from "../storage/commit.ts"
import type { StorageDriver } from "../storage/driver.ts"
import { createMongoDriver, type MongoDriver } from "../storage/mongodb/driver.ts"
import { type LiveAdapter, liveAdapter } from "../storage/mongodb/live-adapter.ts"
import { createSqliteDriver } from "../storage/sqlite/driver.ts"
import { createStore, type StartedStore } from "../storage/store.ts"

interface Chosen {
  readonly driver: StorageDriver
  /** Set where several nodes may share the store. */
  readonly feed: (() => CommitFeed) | undefined
  /** Likewise; to be asked for once storage has started. */
  readonly liveAdapter: (() => LiveAdapter) | undefined
  readonly limits: Partial<GroupCommitLimits>
}

/** On MongoDB several groups are under way at once, and groups this large leave commits for each of them. */
const mongoGroup = 128

export const Driver = token<Chosen>("StorageDriver")
const Opened = token<StartedStore>("StartedStore")
/** Decides which node does what only one may do. */
export const LeasesToken = token<Leases>("Leases")

export function provideStorage(container: Container, registry: Registry): void {
  for (const collection of clusterCollections) registry.add(Collections, collection, "cluster")
  container.provide(Driver, {
    inject: { config: Settings, clock: Clock, log: Log },
    create: ({ config, clock, log }) => choose(config.storage.url, config.data_dir, { clock, log }),
  })
  container.provide(Opened, {
    inject: { chosen: Driver, clock: Clock, metrics: Metrics },
    create: ({ chosen, clock, metrics }) =>
      createStore({ driver: chosen.driver, collections: declaredIn(registry), clock, observe: observer(metrics), limits: chosen.limits }),
    start: (store) => store.start(),
    stop: (store) => store.stop(),
  })
  container.provide(Store, { inject: { store: Opened }, create: ({ store }) => store })
  container.provide(Coherence, {
    inject: { chosen: Driver, store: Store, clock: Clock, ids: Ids, log: Log },
    create: ({ chosen, ...deps }) => (chosen.feed ? createClusterCoherence({ ...deps, feed: chosen.feed() }) : createLocalCoherence(deps)),
    start: async (coherence) => {
      if ("start" in coherence) await (coherence as { start(): Promise<void> }).start()
    },
    stop: async (coherence) => {
      if ("stop" in coherence) await (coherence as { stop(): Promise<void> }).stop()
    },
  })
  container.provide(LeasesToken, {
    inject: { store: Store, clock: Clock, ids: Ids },
    create: (deps) => createLeases({ ...deps, holder: deps.ids.uuid() }),
  })
}

function choose(url: string | null, dataDir: string, deps: { clock: Clock; log: Logger }): Chosen {
  if (url === null || url === "")
    return {
      driver: createSqliteDriver({ file: join(dataDir, "millrace.db"), ...deps }),
      feed: undefined,
      liveAdapter: undefined,
      limits: {},
    }
  if (/^mongodb(\+srv)?:\/\//.test(url)) {
    const driver: MongoDriver = createMongoDriver({ url, ...deps })
    return { driver, feed: () => driver.feed, liveAdapter: () => liveAdapter(driver.db, deps.log), limits: { groupCommits: mongoGroup } }
  }
  throw new BootError([
    `storage.url: "${url.replace(/\/\/.*@/, "//[set]@")}" is no storage that Millrace knows; leave it out for the embedded file, or give mongodb://… .`,
  ])
}

/** Read when the store starts: whatever plugins declared by then. */
function declaredIn(registry: Registry): Iterable<CollectionSpec> {
  return { [Symbol.iterator]: () => registry.items(Collections)[Symbol.iterator]() }
}

function observer(metrics: Metrics) {
  const commits = new Counter({
    name: "millrace_commits_total",
    help: "Commits by outcome.",
    labelNames: ["outcome"],
    registers: [metrics],
  })
  const sizes = new Histogram({
    name: "millrace_commit_group_size",
    help: "Commits merged into one group.",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers: [metrics],
  })
  const seconds = new Histogram({
    name: "millrace_commit_seconds",
    help: "Time a group of commits takes.",
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1],
    registers: [metrics],
  })
  return (group: { commits: number; failed: number; milliseconds: number }) => {
    commits.inc({ outcome: "ok" }, group.commits - group.failed)
    if (group.failed > 0) commits.inc({ outcome: "refused" }, group.failed)
    sizes.observe(group.commits)
    seconds.observe(group.milliseconds / 1_000)
  }
}
