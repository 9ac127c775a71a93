// Cache invalidation between nodes on one storage. Each node has a lease. A node renews it only while it also reads the feed of
// changes. It confirms a change after dropping the cached value. After its lease expires by its own monotonic clock, it refuses
// work until it has registered again and dropped everything.
import type { CacheInvalidation, CommitFeed, CommitFeedReader } from "../contract/cluster.ts"
import type { Store } from "../contract/store.ts"
import type { UnitOfWork } from "../contract/unit-of-work.ts"
import { type Clock, sleep, timestamp } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import type { Logger } from "../kernel/log.ts"
import { allDone, throwUncaught } from "../kernel/promises.ts"
import { type ChangeDocument, changes, nodeKeptMs, nodes } from "./collections.ts"
import { settled } from "./settled.ts"
import { Topics } from "./topics.ts"

export interface ClusterOptions {
  readonly store: Store
  readonly feed: CommitFeed
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  /** Milliseconds. Default 5,000. */
  readonly leaseMs?: number
  /** The registering process. Default: its first id as a node. */
  readonly process?: string
}

export interface ClusterInvalidation extends CacheInvalidation {
  /** The current id of this node. It changes after each expired lease. */
  readonly node: string
  /** Registers the node. Resolves when the node is live. */
  start(): Promise<void>
  /** Removes the registration, so no other node waits for this node. */
  stop(): Promise<void>
}

export function createClusterInvalidation(options: ClusterOptions): ClusterInvalidation {
  return new Cluster(options)
}

/** Maximum number of recent changes to confirm at registration, since other nodes may wait for them. */
const earlierAtMost = 100

class Cluster implements ClusterInvalidation {
  readonly #options: ClusterOptions
  readonly #leaseMs: number
  readonly #topics = new Topics()
  /** Wakes waiters for the confirmation of a change. */
  readonly #wakers = new Set<() => void>()
  readonly #inFlight = new Set<Promise<void>>()
  #node = ""
  #reader: CommitFeedReader | undefined
  /** Monotonic time of the end of this node's lease. */
  #liveUntil = Number.NEGATIVE_INFINITY
  /** Monotonic time of the last complete read of the feed. */
  #readAt = Number.NEGATIVE_INFINITY
  /** The error of the last renewal, while the store is down. */
  #outage: AppError | undefined
  /** Set if a change may have been missed. The registration must not be renewed then. */
  #broken = false
  #stopping = false
  #loops: Promise<unknown> = Promise.resolve()

  constructor(options: ClusterOptions) {
    this.#options = options
    this.#leaseMs = options.leaseMs ?? 5_000
  }

  get node(): string {
    return this.#node
  }

  onChange(topic: string, drop: (key: string) => Promise<void> | void): void {
    this.#topics.add(topic, drop)
  }

  announce(work: UnitOfWork, topic: string, key: string, options: { settled?: boolean } = {}): void {
    const { ids, clock, log } = this.#options
    const id = ids.uuid()
    const waits = options.settled === true
    const expires_at = timestamp(clock.now() + nodeKeptMs)
    work.in(changes).insert({ id, topic, key, origin: this.#node, settled: waits, confirmed: [], expires_at })
    work.afterCommit(async () => {
      const dropped = this.#topics.drop(topic, key)
      if (waits) await allDone([dropped, this.#everywhere(id)])
      else dropped.catch((error: unknown) => log.error({ err: error, topic, key }, "a cache could not be invalidated"))
    })
  }

  assertLease(): void {
    if (!this.#broken && this.#options.clock.monotonic() < this.#liveUntil) return
    if (this.#outage) {
      const message = "Storage does not answer, so this node accepts no work. Retry shortly."
      throw new AppError("unavailable", message, { reason: "storage_unavailable" }, { retryAfterS: 1, cause: this.#outage })
    }
    throw new AppError(
      "unavailable",
      "This node's lease has expired, and it is catching up. Retry shortly.",
      { reason: "lease_lost" },
      { retryAfterS: 1 },
    )
  }

  async start(): Promise<void> {
    await this.#register()
    this.#loops = Promise.allSettled([this.#renewing().catch(throwUncaught), this.#reading().catch(throwUncaught)])
  }

  async stop(): Promise<void> {
    this.#stopping = true
    for (const wake of this.#wakers) wake()
    await this.#loops
    await Promise.allSettled(this.#inFlight)
    await this.#reader?.close().catch(() => undefined)
    this.#liveUntil = Number.NEGATIVE_INFINITY
    if (this.#node !== "") await this.#remove()
  }

  /** Opens the feed before registering. Every announcement after the registration is then in the feed. */
  async #register(): Promise<void> {
    const { store, feed, clock, ids } = this.#options
    await this.#reader?.close().catch(() => undefined)
    this.#reader = undefined
    const sentAt = clock.monotonic()
    this.#reader = await feed.open(changes)
    this.#node = ids.uuid()
    const now = clock.now()
    const times = { started_at: timestamp(now), expires_at: timestamp(now + nodeKeptMs) }
    const doc = { id: this.#node, renewals: 0, lease_ms: this.#leaseMs, process: this.#options.process ?? this.#node, ...times }
    await store.commit({ id: ids.uuid(), writes: [{ kind: "insert", collection: nodes, doc }] })
    const earlier = await store.open(changes).find({ settled: true }, { sort: { expires_at: -1 }, limit: earlierAtMost })
    // Cached values from before may be stale.
    await this.#topics.dropAll()
    // A node may commit a change before this feed began and list the nodes after this registration. It then waits for this node.
    await allDone(earlier.map((change) => this.#confirm(change, this.#node)))
    this.#readAt = sentAt
    this.#broken = false
    this.#liveUntil = sentAt + this.#leaseMs
  }

  async #renewing(): Promise<void> {
    const { clock, log } = this.#options
    while (!this.#stopping) {
      await this.#rest(this.#leaseMs / 4)
      if (this.#stopping) return
      try {
        if (this.#broken || clock.monotonic() >= this.#liveUntil) await this.#revive()
        else if (clock.monotonic() - this.#readAt < this.#leaseMs / 2) await this.#renew()
        this.#outage = undefined
      } catch (error) {
        if (error instanceof AppError && error.code === "unavailable") this.#outage = error
        log.warn({ err: error, node: this.#node }, "this node's lease could not be renewed")
      }
    }
  }

  async #renew(): Promise<void> {
    const { store, clock, ids } = this.#options
    const sentAt = clock.monotonic()
    const update = { $inc: { renewals: 1 }, $set: { expires_at: timestamp(clock.now() + nodeKeptMs) } }
    try {
      await store.commit({ id: ids.uuid(), writes: [{ kind: "update", collection: nodes, id: this.#node, update }] })
      // The lease counts from the time before sending, since other nodes see the renewal later.
      if (clock.monotonic() < this.#liveUntil) this.#liveUntil = sentAt + this.#leaseMs
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") this.#broken = true
      throw error
    }
  }

  async #revive(): Promise<void> {
    this.#broken = true
    const earlier = this.#node
    await this.#remove()
    await this.#register()
    this.#options.log.info({ node: this.#node, earlier }, "this node's lease had expired; it has registered again and cleared its caches")
  }

  async #remove(): Promise<void> {
    const { store, ids, log } = this.#options
    const write = { kind: "remove", collection: nodes, id: this.#node, optional: true } as const
    await store.commit({ id: ids.uuid(), writes: [write] }).catch((error: unknown) => {
      log.warn({ err: error, node: this.#node }, "this node's registration could not be removed; other nodes wait for its lease to expire")
    })
  }

  async #reading(): Promise<void> {
    const { clock, log } = this.#options
    while (!this.#stopping) {
      const reader = this.#reader
      if (!reader || this.#broken) {
        await this.#rest(50)
        continue
      }
      const from = clock.monotonic()
      try {
        const event = await reader.next(100)
        if (reader !== this.#reader) continue
        this.#readAt = from
        if (event?.inserted) this.#take(event.inserted as ChangeDocument)
        else if (event) for (const wake of this.#wakers) wake()
      } catch (error) {
        this.#broken = true
        log.warn({ err: error, node: this.#node }, "the feed of changes broke off")
      }
    }
  }

  /**
   * Drops at once and confirms afterwards, without delaying later changes. This applies to the node's own changes too, since the
   * answer of their commit may be lost.
   */
  #take(change: ChangeDocument): void {
    const node = this.#node
    const awaited = change.settled && change.origin !== node
    const work = this.#topics
      .drop(change.topic, change.key)
      .then(() => (awaited ? this.#confirm(change, node) : undefined))
      .catch((error: unknown) => {
        // A value that could not be dropped must not be served, so this node starts over.
        this.#broken = true
        this.#options.log.error({ err: error, topic: change.topic, key: change.key }, "a cache could not be invalidated or confirmed")
      })
      .finally(() => this.#inFlight.delete(work))
    this.#inFlight.add(work)
  }

  async #confirm(change: ChangeDocument, node: string): Promise<void> {
    const { store, ids } = this.#options
    const update = { $addToSet: { confirmed: node } }
    await store.commit({ id: ids.uuid(), writes: [{ kind: "update", collection: changes, id: change.id, update, optional: true }] })
  }

  #everywhere(id: string): Promise<void> {
    const { store, clock, ids } = this.#options
    return settled(id, { store, clock, ids, self: this.#node, news: () => this.#rest(250) })
  }

  /** Sleeps, but wakes for news. */
  async #rest(milliseconds: number): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      const wake = () => {
        this.#wakers.delete(wake)
        resolve()
      }
      this.#wakers.add(wake)
      sleep(this.#options.clock, milliseconds).then(wake, wake)
    })
    await woken
  }
}
