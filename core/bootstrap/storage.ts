// Chooses the store from the configuration: the embedded SQLite file by default, or MongoDB by URL. Also chooses the cache
// invalidation between nodes.
import { Counter, Histogram } from "prom-client"
import { createClusterInvalidation } from "../cluster/cluster.ts"
import { clusterCollections } from "../cluster/collections.ts"
import { createLeases, EndedProcesses, freeAllLeases } from "../cluster/leases.ts"
import { createLocalInvalidation } from "../cluster/topics.ts"
import { CacheInvalidation, type CommitFeed, Leases } from "../contract/cluster.ts"
import { type CollectionSpec, Collections } from "../contract/collection.ts"
import { Metrics } from "../contract/metrics.ts"
import { Store } from "../contract/store.ts"
import { Clock } from "../kernel/clock.ts"
import { BootError, type CoreConfig, Settings } from "../kernel/config.ts"
import { type Container, token } from "../kernel/di.ts"
import { Ids } from "../kernel/ids.ts"
import { BoundedLog, Log, type Logger } from "../kernel/log.ts"
import type { Registry } from "../kernel/registry.ts"
import { Vault } from "../kernel/vault.ts"
import type { GroupCommitLimits } from "../storage/commit.ts"
import type { StorageDriver } from "../storage/driver.ts"
import { checkMasterKey, MasterKeysCollection } from "../storage/master-key.ts"
import type { LiveAdapter } from "../storage/mongodb/driver.ts"
import { createSqliteDriver } from "../storage/sqlite/driver.ts"
import { createStore, type StartedStore } from "../storage/store.ts"
import { dataFile, isEmbedded, tracesOfStore } from "./embedded.ts"
import { MasterKeys } from "./vault.ts"

interface Chosen {
  readonly driver: StorageDriver
  /** Set if several nodes may share the store. */
  readonly feed: (() => CommitFeed) | undefined
  /** Carries live messages between nodes. Call it after storage has started. */
  readonly liveAdapter: (() => LiveAdapter) | undefined
  readonly limits: Partial<GroupCommitLimits>
}

/** Commits per group on MongoDB. Several groups run concurrently, and this size leaves commits for each of them. */
const mongoGroup = 128
/** Wait for storage, in milliseconds: about the default time of an election. */
const mongoWaitMs = 10_000

export const Driver = token<Chosen>("StorageDriver")
/** The store before its first read, for code that runs before the services. */
export const Opened = token<StartedStore>("StartedStore")
/** Available once the master key has been verified against the store. */
export const CheckedMasterKey = token<unknown>("CheckedMasterKey")
const OwnLeases = token<Leases & { start(): Promise<void> }>("OwnLeases")

/** Timeouts of storage, in milliseconds. */
export interface StoragePatience {
  /** A node without contact to the store for this long refuses work. */
  readonly leaseMs: number
  /** Default deadline of a read. */
  readonly readMs: number
}

/** Throws BootError if `storage.url` names an unsupported storage. */
export async function provideStorage(
  container: Container,
  registry: Registry,
  config: CoreConfig,
  processId: string,
  patience?: StoragePatience,
): Promise<void> {
  for (const collection of clusterCollections) registry.add(Collections, collection, "cluster")
  const choose = isEmbedded(config) ? embedded : await byUrl(config.storage.url ?? "")
  container.provide(Driver, { inject: { config: Settings, clock: Clock, log: Log }, create: choose })
  container.provide(Opened, {
    inject: { chosen: Driver, clock: Clock, metrics: Metrics },
    create: ({ chosen, clock, metrics }) =>
      createStore({
        driver: chosen.driver,
        collections: declaredIn(registry),
        clock,
        observe: observer(metrics),
        // Tests move their clocks while commits wait.
        limits: { ...chosen.limits, ...(patience && { waitMs: Number.POSITIVE_INFINITY }) },
        ...(patience && { readDeadlineMs: patience.readMs }),
      }),
    start: (store) => store.start(),
    stop: (store) => store.stop(),
  })
  registry.add(Collections, MasterKeysCollection, "core")
  // Runs before any service seals or opens a secret.
  container.provide(CheckedMasterKey, {
    inject: { store: Opened, keys: MasterKeys, vault: Vault },
    create: (deps) => deps,
    async start({ store, keys, vault }) {
      await checkMasterKey(store, { vault, source: keys.source, file: keys.file })
      keys.keep()
    },
  })
  container.provide(Store, { inject: { store: Opened }, create: ({ store }) => store })
  container.provide(CacheInvalidation, {
    inject: { chosen: Driver, store: Store, clock: Clock, ids: Ids, log: Log },
    create: ({ chosen: { feed }, ...deps }) =>
      feed
        ? createClusterInvalidation({ ...deps, process: processId, feed: feed(), ...(patience && { leaseMs: patience.leaseMs }) })
        : createLocalInvalidation(deps),
    start: async (invalidation) => {
      if ("start" in invalidation) await (invalidation as { start(): Promise<void> }).start()
    },
    stop: async (invalidation) => {
      if ("stop" in invalidation) await (invalidation as { stop(): Promise<void> }).stop()
    },
  })
  container.provide(Leases, {
    inject: { leases: OwnLeases },
    create: ({ leases }) => leases,
  })
  container.provide(OwnLeases, {
    inject: { chosen: Driver, store: Store, clock: Clock, ids: Ids, log: Log },
    create: ({ chosen: { feed }, ...deps }) => {
      const ended = new EndedProcesses(deps)
      const watch = feed && { hasEnded: (holder: string) => ended.hasEnded(holder) }
      const start = async () => (feed ? undefined : await freeAllLeases(deps))
      return { ...createLeases({ ...deps, holder: processId, ...watch }), start }
    },
    start: (leases) => leases.start(),
  })
}

type Choose = (deps: { readonly config: CoreConfig; readonly clock: Clock; readonly log: Logger }) => Chosen

/** Loads the MongoDB driver only if it is used, since it takes a sixth of a command's start. */
async function byUrl(url: string): Promise<Choose> {
  if (!/^mongodb(\+srv)?:\/\//.test(url)) {
    throw new BootError([
      `storage.url: "${url.replace(/\/\/.*@/, "//[set]@")}" is not a supported storage; leave it out for the embedded file, or give mongodb://… .`,
    ])
  }
  const { createMongoDriver } = await import("../storage/mongodb/driver.ts")
  const { liveAdapter } = await import("../storage/mongodb/driver.ts")
  return ({ clock, log }) => {
    const driver = createMongoDriver({ url, clock, log })
    return {
      driver,
      feed: () => driver.feed,
      liveAdapter: () => liveAdapter(driver.db, log),
      limits: { groupCommits: mongoGroup, waitMs: mongoWaitMs },
    }
  }
}

/** Reports of the file go to the log. */
function embedded({ config, clock, log }: Parameters<Choose>[0]): Chosen {
  const file = dataFile(config)
  const bounded = new BoundedLog(log, clock)
  const driver = createSqliteDriver({
    file,
    clock,
    traces: tracesOfStore(config),
    onWriterDeath: (error) => log.error({ err: error }, "the thread that writes the data file ended; restarting it"),
    onLost: (lost) =>
      log.error(
        { file, ...lost },
        "acknowledged commits are lost: the write-ahead log ends before the last of them; a copy of the log was kept",
      ),
    onFault: (fault) =>
      fault
        ? log.fatal({ file, reason: fault.reason }, fault.message)
        : log.warn({ file }, "the data file is back; commits are accepted again"),
    onUnreadable: (collection) =>
      bounded.error(collection, { file, collection }, "a document is damaged on disk and is omitted from reads"),
  })
  return { driver, feed: undefined, liveAdapter: undefined, limits: {} }
}

/** Read when the store starts, after plugins have declared their collections. */
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
