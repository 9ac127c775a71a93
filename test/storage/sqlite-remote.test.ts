// The embedded driver where another process owns the file: the contract over a link, several workers on one file, and
// what becomes of commits whose answer was lost.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { changes, leases } from "../../core/cluster/collections.ts"
import { createLeases } from "../../core/cluster/leases.ts"
import { type CollectionSpec, defineCollection } from "../../core/contract/collection.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import type { AppError } from "../../core/kernel/errors.ts"
import { timeOrderedIds } from "../../core/kernel/ids.ts"
import { createSqliteDriver } from "../../core/storage/sqlite/driver.ts"
import { FileOwner } from "../../core/storage/sqlite/owner.ts"
import { RemoteWriter } from "../../core/storage/sqlite/remote-writer.ts"
import { WriterService } from "../../core/storage/sqlite/writer-service.ts"
import { createStore, type StartedStore } from "../../core/storage/store.ts"
import { type LinkPair, linkPairs } from "../cluster/link-pair.ts"
import { type Note, refusal, storageContract } from "./contract.ts"

interface Workers {
  readonly stores: readonly StartedStore[]
  readonly writers: readonly RemoteWriter[]
  readonly pairs: readonly LinkPair[]
  readonly owner: FileOwner
  readonly file: string
  readonly noted: string[]
  close(): Promise<void>
}

async function openWorkers(count: number, collections: readonly CollectionSpec[]): Promise<Workers> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-remote-"))
  const file = join(folder, "data.db")
  const owner = new FileOwner({ file, clock: systemClock, expireEveryMs: 1_000, onWriterDeath: () => undefined })
  const noted: string[] = []
  const service = new WriterService(owner, (_from, { id }) => void noted.push(id))
  const { pairs, close } = await linkPairs(count)
  const writers = pairs.map(({ parent, worker }) => {
    service.serve(parent)
    return new RemoteWriter({ link: worker, file, fed: [changes.name] })
  })
  const stores = writers.map((writing) => createStore({ driver: createSqliteDriver({ file, writing }), collections, clock: systemClock }))
  for (const store of stores) await store.start()
  return {
    stores,
    writers,
    pairs,
    owner,
    file,
    noted,
    async close() {
      for (const store of stores) await store.stop()
      close()
      await owner.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

storageContract("sqlite over a link", async (collections) => {
  const workers = await openWorkers(1, collections)
  return { store: workers.stores[0] as StartedStore, close: workers.close }
})

const events = defineCollection<Note>()({ name: "events", scope: "global", times: [], indexes: [{ fields: ["kind"] }] })

describe("storage: one file and several workers", () => {
  let workers: Workers
  afterEach(() => workers.close())
  const insert = (worker: number, id: string) =>
    (workers.stores[worker] as StartedStore).commit({ id: `c-${id}`, writes: [{ kind: "insert", collection: events, doc: { id } }] })

  it("commits of all are kept, seen by all at once, and counted without loss", async () => {
    workers = await openWorkers(3, [events])
    await insert(0, "counter")
    const commits = Array.from({ length: 600 }, async (_, n) => {
      const store = workers.stores[n % 3] as StartedStore
      const more = { kind: "update", collection: events, id: "counter", update: { $inc: { count: 1 } } } as const
      await store.commit({ id: `step-${n}`, writes: [more, { kind: "insert", collection: events, doc: { id: `e${n}` } }] })
      // Whoever is told of a commit finds it, wherever it asks.
      expect(await (workers.stores[(n + 1) % 3] as StartedStore).open(events).get(`e${n}`)).to.deep.equal({ id: `e${n}` })
    })
    await Promise.all(commits)
    for (const store of workers.stores) {
      expect(await store.open(events).count({})).to.equal(601)
      expect(await store.open(events).get("counter")).to.include({ count: 600 })
    }
  })

  it("a commit that is refused takes no neighbour of another worker along", async () => {
    workers = await openWorkers(2, [events])
    await insert(0, "taken")
    const answers = await Promise.allSettled(
      Array.from({ length: 40 }, (_, n) => {
        const id = n === 20 ? "taken" : `free-${n}`
        return (workers.stores[n % 2] as StartedStore).commit({
          id: `try-${n}`,
          writes: [{ kind: "insert", collection: events, doc: { id } }],
        })
      }),
    )
    const refused = answers.flatMap((answer, n) => (answer.status === "rejected" ? [[n, (answer.reason as AppError).code]] : []))
    expect(refused).to.deep.equal([[20, "already_exists"]])
    expect(await (workers.stores[0] as StartedStore).open(events).count({})).to.equal(40)
  })

  it("gives a lease to one of them, so that what is scheduled is done once", async () => {
    workers = await openWorkers(3, [leases])
    const ids = timeOrderedIds(systemClock)
    const holders = workers.stores.map((store, index) => createLeases({ store, clock: systemClock, ids, holder: `worker ${index}` }))
    for (const round of [1, 2, 3]) {
      const claims = await Promise.all(holders.map((one) => one.claim(`schedule:${round}`, 60_000)))
      expect(claims.filter(Boolean)).to.have.length(1)
      const holder = claims.indexOf(true)
      await holders[holder]?.release(`schedule:${round}`)
      expect(await holders[(holder + 1) % 3]?.claim(`schedule:${round}`, 60_000)).to.equal(true)
    }
  })

  it("tells every worker of what is committed to a collection with a feed, and of nothing that is refused", async () => {
    workers = await openWorkers(2, [events, changes])
    const readers = await Promise.all(workers.writers.map(({ feed }) => feed.open(changes)))
    const doc = { id: "change-1", topic: "t", key: "k", origin: "o", settled: false, confirmed: [], expires_at: "2999-01-01T00:00:00.000Z" }
    const store = workers.stores[0] as StartedStore
    await store.commit({ id: "one", writes: [{ kind: "insert", collection: changes, doc }] })
    await refusal(store.commit({ id: "two", writes: [{ kind: "insert", collection: changes, doc }] }))
    await store.commit({
      id: "three",
      writes: [{ kind: "update", collection: changes, id: doc.id, update: { $addToSet: { confirmed: "n" } } }],
    })
    for (const reader of readers) {
      expect(await reader.next(60_000)).to.deep.include({ id: doc.id, inserted: doc })
      expect(await reader.next(60_000))
        .to.deep.include({ id: doc.id })
        .and.not.have.property("inserted")
      expect(await reader.next(20)).to.equal(undefined)
    }
    expect(workers.noted).to.deep.equal([doc.id, doc.id])
    workers.pairs[1]?.parent.close()
    expect(await refusal(readers[1]?.next(60_000) as Promise<unknown>)).to.have.property("code", "unavailable")
  })

  it("refuses a worker that has other collections, since it would write into the wrong ones", async () => {
    workers = await openWorkers(1, [events, changes])
    const { pairs, close } = await linkPairs(1)
    const { parent, worker } = pairs[0] as LinkPair
    new WriterService(workers.owner, () => undefined).serve(parent)
    close()
    const writing = new RemoteWriter({ link: workers.pairs[0]?.worker as LinkPair["worker"], file: workers.file, fed: [] })
    const wrong = createStore({
      driver: createSqliteDriver({ file: workers.file, writing }),
      collections: [changes, events],
      clock: systemClock,
    })
    expect(await refusal(wrong.start())).to.have.nested.property("details.reason", "other_collections")
    expect(worker.lost).to.equal(true)
    expect(await refusal(worker.ask("anything"))).to.have.property("code", "unavailable")
  })

  it("an answer that was lost with the owner is found in the file, and what was not kept is refused", async () => {
    workers = await openWorkers(2, [events])
    const [lost, other] = workers.stores as [StartedStore, StartedStore]
    const { parent } = workers.pairs[0] as LinkPair
    await insert(0, "before")
    // The owner writes the group and dies before it answers.
    parent.answer("store.commit", async (group: { packed: string }) => {
      await workers.owner.ask({ kind: "group", groups: [group.packed] })
      parent.close()
      return new Promise(() => undefined)
    })
    expect(await lost.commit({ id: "c-kept", writes: [{ kind: "insert", collection: events, doc: { id: "kept" } }] })).to.deep.equal({
      created: [true],
    })
    const late = await refusal(insert(0, "late"))
    expect([late.code, late.retryAfterS]).to.deep.equal(["unavailable", 1])
    const { parent: second } = workers.pairs[1] as LinkPair
    second.answer("store.commit", () => {
      second.close()
      return new Promise(() => undefined)
    })
    const dropped = await refusal(insert(1, "dropped"))
    expect([dropped.code, dropped.retryAfterS]).to.deep.equal(["unavailable", 1])
    const ids = (await other.open(events).find({})).map(({ id }) => id)
    expect(ids.sort()).to.deep.equal(["before", "kept"])
  })
})
