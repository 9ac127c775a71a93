// Several nodes on one replica set. All nodes drop a settled change before its work is done. A disconnected node delays others at
// most for its lease, and stops working afterwards.
import { expect } from "chai"
import { type ClusterInvalidation, createClusterInvalidation } from "../../core/cluster/cluster.ts"
import { changes, clusterCollections, nodes } from "../../core/cluster/collections.ts"
import { createLeases } from "../../core/cluster/leases.ts"
import { settled } from "../../core/cluster/settled.ts"
import { createLocalInvalidation } from "../../core/cluster/topics.ts"
import { allKeys, type CacheInvalidation } from "../../core/contract/cluster.ts"
import type { Store } from "../../core/contract/store.ts"
import { StagedWork } from "../../core/contract/unit-of-work.ts"
import { type Clock, systemClock } from "../../core/kernel/clock.ts"
import { AppError } from "../../core/kernel/errors.ts"
import { timeOrderedIds } from "../../core/kernel/ids.ts"
import { createLog } from "../../core/kernel/log.ts"
import { MovableClock } from "../../core/kernel/movable-clock.ts"
import { createMongoDriver, type MongoDriver } from "../../core/storage/mongodb/driver.ts"
import { createStore, type StartedStore } from "../../core/storage/store.ts"
import { mongoAvailable, sharedMongo } from "../mongodb-server.ts"
import { until } from "../waiting.ts"

const ids = timeOrderedIds(systemClock)
const log = createLog("silent")
const leaseMs = 800
/** Too long to expire before the test ends, even if the machine stalls. */
const longLeaseMs = 600_000

/** Commits the work like its caller: done after `afterCommit`. */
async function announce(store: Store, invalidation: CacheInvalidation, key: string, isSettled: boolean): Promise<void> {
  const work = new StagedWork(ids.uuid())
  invalidation.announce(work, "pipelines", key, { settled: isSettled })
  await work.committed(await store.commit(work.commit))
}

/** A promise and its resolver. */
function gate(): { open: () => void; opened: Promise<void> } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

/** The clock of a stopped process: it does not advance, and timers wait until the process resumes. */
class StoppedClock implements Clock {
  readonly #stoppedAt = systemClock.monotonic()
  #waiting: Set<() => void> | undefined = new Set()

  now(): number {
    return systemClock.now()
  }
  monotonic(): number {
    return this.#waiting ? this.#stoppedAt : systemClock.monotonic()
  }
  after(milliseconds: number, run: () => void): () => void {
    const waiting = this.#waiting
    if (!waiting) return systemClock.after(milliseconds, run)
    waiting.add(run)
    return () => void waiting.delete(run)
  }
  /** Timers expired in the meantime fire at once. */
  goOn(): void {
    const due = this.#waiting ?? []
    this.#waiting = undefined
    for (const run of due) systemClock.after(0, run)
  }
}

describe("cluster: one process", () => {
  it("drops before a settled work is done, and is always live", async () => {
    const dropped: string[] = []
    const invalidation = createLocalInvalidation({ log })
    invalidation.onChange("pipelines", async (key) => {
      await Promise.resolve()
      dropped.push(key)
    })
    invalidation.onChange("other", (key) => void dropped.push(`other ${key}`))
    const work = new StagedWork(ids.uuid())
    invalidation.announce(work, "pipelines", "p1", { settled: true })
    expect(dropped).to.deep.equal([])
    await work.committed({ created: [] })
    expect(dropped).to.deep.equal(["p1"])
    invalidation.assertLease()
  })
})

describe("cluster: waiting for a node that renews no more", () => {
  it("counts from when its last renewal was read, however long the reading took", async () => {
    let time = 0
    let renewals = 0
    let renewedAt = 0
    let struckOffAt = 0
    const find = async () => {
      if (time > 0 && renewals === 0) {
        // Renewed at the end of a long reading.
        time += 900
        renewals = 1
        renewedAt = time
      }
      return [{ id: "other", renewals, lease_ms: 1_000 }]
    }
    const commit = async () => {
      struckOffAt = time
    }
    const store = { open: () => ({ find, get: async () => undefined }), commit } as unknown as Store
    const clock = { ...systemClock, monotonic: () => time }
    const news = async () => {
      time += 250
    }
    await settled("change", { store, clock, ids, self: "self", news })
    expect(renewedAt).to.be.greaterThan(0)
    expect(struckOffAt - renewedAt).to.be.at.least(1_000)
  })
})

describe("cluster: a node whose store does not answer", () => {
  it("names the storage, and its lease only once the store answers again", async () => {
    const clock = new MovableClock()
    let isDown = false
    const down = new AppError("unavailable", "MongoDB cannot commit now.", { reason: "storage_unavailable" })
    const commit = async () => {
      if (isDown) throw down
      return { created: [true] }
    }
    const store = { open: () => ({ find: async () => [] }), commit } as unknown as Store
    const reader = { next: () => new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined))), close: async () => {} }
    const node = createClusterInvalidation({ store, feed: { open: async () => reader }, clock, ids, log, leaseMs: 4_000 })
    await node.start()
    node.assertLease()
    isDown = true
    const reasonOf = () => {
      try {
        node.assertLease()
        return "live"
      } catch (error) {
        return error instanceof AppError ? error.details.reason : error
      }
    }
    await until("the outage being known", () => {
      clock.move(1_000)
      return reasonOf() === "storage_unavailable"
    })
    isDown = false
    await until("the lease being back", () => {
      clock.move(1_000)
      return reasonOf() === "live"
    })
    await node.stop()
  })
})

const suite = mongoAvailable ? describe : describe.skip

suite("cluster: nodes on one replica set", () => {
  let driver: MongoDriver
  let store: StartedStore
  const started: ClusterInvalidation[] = []

  before(async () => {
    driver = createMongoDriver({ url: (await sharedMongo()).freshUrl(), clock: systemClock, log })
    store = createStore({ driver, collections: clusterCollections, clock: systemClock })
    await store.start()
  })
  afterEach(async () => {
    await Promise.all(started.splice(0).map((node) => node.stop()))
    expect(await store.open(nodes).find({}), "stopped nodes left their registration").to.deep.equal([])
  })
  after(async () => {
    await driver.db.dropDatabase()
    await store.stop()
  })

  async function node(
    drop: (key: string) => Promise<void> | void,
    options: { clock?: Clock; leaseMs?: number } = {},
  ): Promise<ClusterInvalidation> {
    const clusterInvalidation = createClusterInvalidation({ store, feed: driver.feed, clock: systemClock, ids, log, leaseMs, ...options })
    clusterInvalidation.onChange("pipelines", drop)
    await clusterInvalidation.start()
    started.push(clusterInvalidation)
    return clusterInvalidation
  }

  it("a settled change is dropped by every node before its work is done", async () => {
    const dropped: string[][] = [[], [], []]
    const clusterInvalidations: ClusterInvalidation[] = []
    for (const list of dropped) clusterInvalidations.push(await node((key) => void list.push(key), { leaseMs: longLeaseMs }))
    for (const list of dropped) list.length = 0
    const [first, second] = clusterInvalidations
    if (!first || !second) throw new Error("no nodes")
    await announce(store, first, "p1", true)
    for (const list of dropped) expect(list).to.include("p1")
    await announce(store, second, "p2", true)
    for (const list of dropped) expect(list).to.include("p2")
    for (const clusterInvalidation of clusterInvalidations) clusterInvalidation.assertLease()
  })

  it("does not wait for ever for a node that registers between a commit and the look at who is there", async () => {
    const first = await node(() => {}, { leaseMs: longLeaseMs })
    const work = new StagedWork(ids.uuid())
    first.announce(work, "pipelines", "p1", { settled: true })
    const result = await store.commit(work.commit)
    // A feed starts with the latest commit; another commit is now the latest.
    await announce(store, first, "p2", false)
    await node(() => {}, { leaseMs: longLeaseMs })
    let over = false
    const committed = work.committed(result).then(() => {
      over = true
    })
    await until("the commit being answered", () => over)
    await committed
  })

  it("waits for a node that still has events under the old revision, for as long as it renews", async () => {
    const busy = gate()
    const request = gate()
    let passed = 0
    const hurried: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passed }
    const first = await node(() => {}, { leaseMs: longLeaseMs, clock: hurried })
    const drop = (key: string) => {
      if (key === allKeys) return
      request.open()
      return busy.opened
    }
    // Renews every 250 ms of its long lease.
    const often: Clock = { ...systemClock, after: (milliseconds, run) => systemClock.after(milliseconds / 600, run) }
    await node(drop, { leaseMs: longLeaseMs, clock: often })
    let isFinished = false
    const work = announce(store, first, "p1", true).then(() => {
      isFinished = true
    })
    await request.opened
    // The waiting node sees much more than one lease pass, but never a whole lease between two renewals.
    for (let moves = 0; moves < 6; moves++) {
      const before = await renewals()
      passed += 400_000
      await until("a renewal", async () => {
        expect(isFinished).to.equal(false)
        return (await renewals()) > before
      })
    }
    busy.open()
    await work
  })

  async function renewals(): Promise<number> {
    return (await store.open(nodes).find({})).reduce((sum, { renewals: count }) => sum + count, 0)
  }

  it("an unsettled change reaches the others without being waited for", async () => {
    const observed = gate()
    const first = await node(() => {}, { leaseMs: longLeaseMs })
    await node((key) => (key === "p9" ? observed.open() : undefined), { leaseMs: longLeaseMs })
    await announce(store, first, "p9", false)
    await observed.opened
    // By confirming this change, a node shows that the one before is finished.
    await announce(store, first, "p10", true)
    expect(await store.open(changes).find({ key: "p9", confirmed: { $ne: [] } })).to.deep.equal([])
  })

  it("does not wait for a stopped node longer than its lease; that node refuses until it has dropped everything", async () => {
    const clock = new StoppedClock()
    const dropped: string[] = []
    const stuck = gate()
    const first = await node(() => {}, { leaseMs: longLeaseMs })
    const stalled = await node(
      (key) => {
        dropped.push(key)
        return key === "p1" ? stuck.opened : undefined
      },
      { clock },
    )
    const registered = stalled.node
    stalled.assertLease()
    dropped.length = 0
    const began = systemClock.monotonic()
    await announce(store, first, "p1", true)
    expect(systemClock.monotonic() - began).to.be.at.least(leaseMs)
    expect(
      (await store.open(nodes).find({})).map(({ id }) => id),
      "struck off, so that nobody waits for it again",
    ).to.deep.equal([first.node])
    await announce(store, first, "p2", true)

    clock.goOn()
    expect(() => stalled.assertLease())
      .to.throw(AppError)
      .with.property("code", "unavailable")
    stuck.open()
    dropped.length = 0
    await until("the node being live again", () => isLive(stalled))
    expect(dropped).to.include(allKeys)
    expect(stalled.node).not.to.equal(registered)
    first.assertLease()
  })

  it("a node whose drop fails refuses and starts over", async () => {
    let fail = true
    const first = await node(() => {})
    const second = await node((key) => {
      if (key === "p1" && fail) throw new Error("cannot")
    })
    const registered = second.node
    await announce(store, first, "p1", true)
    fail = false
    await until("the node having started over", () => isLive(second) && second.node !== registered)
    await announce(store, first, "p1", true)
  })

  function isLive(invalidation: CacheInvalidation): boolean {
    try {
      invalidation.assertLease()
      return true
    } catch {
      return false
    }
  }

  it("a name is leased to one holder at a time", async () => {
    let now = systemClock.now()
    const clock: Clock = { ...systemClock, now: () => now }
    const [a, b] = ["a", "b"].map((holder) => createLeases({ store, clock, ids, holder }))
    if (!a || !b) throw new Error("no leases")
    const claims = await Promise.all([a.claim("cleanup", 1_000), b.claim("cleanup", 1_000)])
    expect(claims.filter(Boolean)).to.have.length(1)
    const [holder, other] = claims[0] ? [a, b] : [b, a]
    expect([await holder.claim("cleanup", 1_000), await other.claim("cleanup", 1_000)]).to.deep.equal([true, false])
    now += 1_001
    expect([await other.claim("cleanup", 1_000), await holder.claim("cleanup", 1_000)]).to.deep.equal([true, false])
    await other.release("cleanup")
    expect(await holder.claim("cleanup", 1_000)).to.equal(true)
  })
})
