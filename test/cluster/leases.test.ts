// Leases of running and ended processes.
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type Clock, Leases, timestamp } from "#core"
import { testHost } from "#core/testing"
import { clusterCollections, nodes } from "../../core/cluster/collections.ts"
import { createLeases, EndedProcesses } from "../../core/cluster/leases.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { timeOrderedIds } from "../../core/kernel/ids.ts"
import { createSqliteDriver } from "../../core/storage/sqlite/driver.ts"
import { createStore, type StartedStore } from "../../core/storage/store.ts"

const dayMs = 86_400_000

describe("leases of several processes", () => {
  let folder: string
  let store: StartedStore
  let moved = 0
  const clock: Clock = { ...systemClock, monotonic: () => moved, now: () => 1_000_000_000_000 + moved }
  const ids = timeOrderedIds(systemClock)
  const process = (holder: string) => {
    const ended = new EndedProcesses({ store, clock })
    return createLeases({ store, clock, ids, holder, hasEnded: (other) => ended.hasEnded(other) })
  }
  const change = (writes: Parameters<StartedStore["commit"]>[0]["writes"]) => store.commit({ id: ids.uuid(), writes })
  const register = (id: string) => {
    const expires_at = timestamp(clock.now() + dayMs)
    const doc = { id: `${id}-node`, process: id, renewals: 0, lease_ms: 5_000, started_at: expires_at, expires_at }
    return change([{ kind: "insert", collection: nodes, doc }])
  }
  const renew = (id: string) => change([{ kind: "update", collection: nodes, id: `${id}-node`, update: { $inc: { renewals: 1 } } }])
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-leases-"))
    store = createStore({ driver: createSqliteDriver({ file: join(folder, "store.db") }), collections: clusterCollections, clock })
    await store.start()
  })
  after(async () => {
    await store.stop()
    await rm(folder, { recursive: true })
  })

  it("are free once the holder renews its registration no more, long before their time", async () => {
    await register("a")
    const [a, b] = [process("a"), process("b")]
    expect(await a.claim("refresh", dayMs)).to.equal(true)
    for (let tries = 0; tries < 4; tries++) {
      expect(await b.claim("refresh", dayMs), `try ${tries}`).to.equal(false)
      moved += 9_000
      await renew("a")
    }
    expect(await b.claim("refresh", dayMs)).to.equal(false)
    moved += 9_000
    expect(await b.claim("refresh", dayMs)).to.equal(false)
    moved += 1_001
    expect([await b.claim("refresh", dayMs), await a.claim("refresh", dayMs)]).to.deep.equal([true, false])
  })

  it("are free after the holder has left", async () => {
    await register("gone")
    const [leases, b] = [process("gone"), process("b")]
    expect(await leases.claim("left", dayMs)).to.equal(true)
    await change([{ kind: "remove", collection: nodes, id: "gone-node" }])
    expect(await b.claim("left", dayMs)).to.equal(false)
    moved += 10_001
    expect(await b.claim("left", dayMs)).to.equal(true)
  })

  it("are free if they end later than a lease claimed now, since a clock was ahead then", async () => {
    const ahead = createLeases({ store, clock: { ...clock, now: () => clock.now() + dayMs }, ids, holder: "ahead" })
    expect(await ahead.claim("ahead", 60_000)).to.equal(true)
    expect(await process("b").claim("ahead", 60_000)).to.equal(true)
  })
})

describe("leases of a store that belongs to one process", () => {
  it("are free at the next start before their time ends", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "millrace-leases-"))
    const first = await testHost({ dataDir })
    const names = ["OAuth refresh a", "page-analytics:b", "c"]
    for (const name of names) expect(await first.get(Leases).claim(name, dayMs)).to.equal(true)
    await first.stop()
    const next = await testHost({ dataDir })
    try {
      for (const name of names) expect(await next.get(Leases).claim(name, dayMs), name).to.equal(true)
      expect(next.logged.some((line) => line.includes("freed the leases of the process before"))).to.equal(true)
    } finally {
      await next.stop()
      await rm(dataDir, { recursive: true })
    }
  })
})
