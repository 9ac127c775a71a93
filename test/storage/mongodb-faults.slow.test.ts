// The MongoDB driver while servers die. Acknowledged writes exist once, merges end in the state of their positions, and work
// continues with a new primary.
import { expect } from "chai"
import { type Document, defineCollection, type Json } from "../../core/contract/collection.ts"
import type { NewestWinsWrite, Write } from "../../core/contract/store.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { AppError } from "../../core/kernel/errors.ts"
import { timeOrderedIds } from "../../core/kernel/ids.ts"
import { createLog } from "../../core/kernel/log.ts"
import { createMongoDriver } from "../../core/storage/mongodb/driver.ts"
import { createStore, type StartedStore } from "../../core/storage/store.ts"
import { type MongoSet, mongoStartable, startSet } from "../mongodb-server.ts"
import { untilProcess as until, untilAvailable } from "../waiting.ts"

const log = createLog("silent")
const acme = "0199aaaa-0000-7000-8000-000000000001"
interface Thing extends Document {
  [field: string]: Json | undefined
}
const entries = defineCollection<Thing>()({ name: "entries", scope: "organization", times: [], indexes: [{ fields: ["writer"] }] })
const rows = defineCollection<Thing>()({ name: "rows", scope: "organization", times: [], indexes: [] })
const ids = timeOrderedIds(systemClock)

/** Longer than a restart of the servers on any machine. */
const outageMs = 300_000

async function openStore(set: MongoSet, commitWithinMs: number, uncertainMs = 40_000): Promise<StartedStore> {
  const driver = createMongoDriver({ url: set.freshUrl(), clock: systemClock, log, commitWithinMs, uncertainMs })
  const store = createStore({ driver, collections: [entries, rows], clock: systemClock, readDeadlineMs: 60_000 })
  await store.start()
  return store
}

/** Writers that commit continuously until stopped. Each commit inserts, counts and merges. */
class Load {
  readonly acknowledged: { writer: number; entry: string; position: string }[] = []
  readonly refused: unknown[] = []
  /** Acknowledged, but missing in a read directly afterwards. */
  readonly unseen: string[] = []
  readonly #store: StartedStore
  readonly #writers: Promise<void>[]
  #ending = false
  #watchers: { at: number; reached: () => void }[] = []

  constructor(store: StartedStore, writers: number) {
    this.#store = store
    this.#writers = Array.from({ length: writers }, (_, writer) => this.#write(writer))
  }

  /** Resolves when this many more commits were acknowledged. */
  more(count: number): Promise<void> {
    return new Promise((reached) => this.#watchers.push({ at: this.acknowledged.length + count, reached }))
  }

  async end(): Promise<void> {
    this.#ending = true
    await Promise.all(this.#writers)
  }

  async #write(writer: number): Promise<void> {
    while (!this.#ending) {
      const entry = ids.uuid()
      const position = ids.uuid()
      try {
        await this.#store.commit({ id: entry, writes: writesOf(writer, entry, position) })
        this.acknowledged.push({ writer, entry, position })
        if (!(await this.#store.open(entries, acme).first({ id: entry }, { deadlineMs: 60_000 }))) this.unseen.push(entry)
        for (const { reached } of this.#watchers.filter(({ at }) => at <= this.acknowledged.length)) reached()
      } catch (error) {
        this.refused.push(error)
        await this.#store.ready().catch(() => undefined)
      }
    }
  }
}

const entryOf = (id: string, writer: number): Thing => ({ id, writer })

function writesOf(writer: number, entry: string, position: string): Write[] {
  const merge: NewestWinsWrite = {
    kind: "newest_wins",
    collection: rows,
    organization: acme,
    doc: {
      id: `row-${writer % 4}`,
      values: { last: position, [`by_${writer}`]: entry },
      created_at: "2026-01-01T00:00:00.000Z",
      updated_at: "2026-01-01T00:00:00.000Z",
    },
    position,
  }
  const counter = { kind: "update", collection: rows, organization: acme, id: `counter-${writer}`, upsert: true } as const
  return [
    { kind: "insert", collection: entries, organization: acme, doc: entryOf(entry, writer) },
    { ...counter, update: { $inc: { n: 1 } } },
    merge,
  ]
}

/** Each acknowledged write exists once. A refused write exists completely or not at all. */
async function verify(store: StartedStore, load: Load): Promise<void> {
  expect(load.unseen).to.deep.equal([])
  const stored = new Map<string, number>()
  for await (const entry of store.open(entries, acme).stream({})) stored.set(entry.id, Number(entry["writer"]))
  for (const { entry } of load.acknowledged) expect(stored.has(entry), `entry ${entry} was acknowledged`).to.equal(true)
  expect(stored.size - load.acknowledged.length).to.be.within(0, load.refused.length)
  for (const writer of new Set(stored.values())) {
    const inserted = [...stored.values()].filter((by) => by === writer).length
    expect(await store.open(rows, acme).get(`counter-${writer}`)).to.include({ n: inserted })
  }
  for (const shared of [0, 1, 2, 3]) {
    const positions = load.acknowledged.filter(({ writer }) => writer % 4 === shared).map(({ position }) => position)
    const row = await store.open(rows, acme).get(`row-${shared}`)
    const newest = positions.sort().at(-1) ?? ""
    expect(String(row?.["position"]) >= newest, `row-${shared} is at ${row?.["position"]}, not behind ${newest}`).to.equal(true)
    expect((row?.["values"] as Record<string, Json> | undefined)?.["last"]).to.equal(row?.["position"])
  }
}

/** Returns false. Throws any other error. */
function isUnavailable(error: unknown): false {
  if (error instanceof AppError && error.code === "unavailable") return false
  throw error
}

const suite = mongoStartable ? describe : describe.skip

suite("storage: mongodb when servers die", () => {
  it("waits at its start for a primary, and says so", async () => {
    const set = await startSet(1)
    try {
      const url = set.freshUrl()
      await set.killPrimary()
      const lines: string[] = []
      const logger = createLog("warn", { write: (line) => void lines.push(line) })
      const driver = createMongoDriver({ url, clock: systemClock, log: logger, startWithinMs: outageMs })
      const store = createStore({ driver, collections: [entries], clock: systemClock })
      const started = store.start()
      await until(() => lines.some((line) => line.includes("Waiting for one")))
      await set.startAll()
      await started
      await untilAvailable(() => store.ready())
      await store.stop()
      expect(lines.filter((line) => line.includes("Waiting for one")).length).to.equal(1)

      await set.killPrimary()
      const impatient = createMongoDriver({ url, clock: systemClock, log, startWithinMs: 0 })
      const refused = await createStore({ driver: impatient, collections: [entries], clock: systemClock })
        .start()
        .catch((error: unknown) => error)
      expect((refused as AppError).message).to.include("Is mongod running there?")
    } finally {
      await set.stop()
    }
  })

  it("keeps every acknowledged commit once when the only member dies and comes back, and is unavailable meanwhile", async () => {
    const set = await startSet(1)
    const store = await openStore(set, outageMs)
    const impatient = await openStore(set, 1_000)
    const write = (): Promise<unknown> => {
      const doc = entryOf(ids.uuid(), 0)
      return impatient.commit({ id: ids.uuid(), writes: [{ kind: "insert", collection: entries, organization: acme, doc }] })
    }
    try {
      const load = new Load(store, 24)
      await load.more(200)
      // On a busy machine a commit may exceed its second; a refused commit is not made.
      for (let isWritten = false; !isWritten; ) isWritten = await write().then(() => true, isUnavailable)
      await set.killPrimary()
      const answers = await Promise.allSettled([write(), impatient.open(entries, acme).find({}, { deadlineMs: 500 }), impatient.ready()])
      await set.startAll()
      for (const answer of answers) {
        const error: unknown = answer.status === "rejected" ? answer.reason : "resolved"
        expect(error).to.be.instanceOf(AppError).with.property("code", "unavailable")
        expect((error as AppError).retryAfterS).to.be.greaterThan(0)
      }
      await load.more(200)
      await load.end()
      expect(load.refused).to.deep.equal([])
      await verify(store, load)
      await untilAvailable(() => impatient.ready())
      expect(await impatient.open(entries, acme).count({}), "a refused commit was made").to.equal(1)
    } finally {
      await store.stop()
      await impatient.stop()
      await set.stop()
    }
  })

  it("asks longer than its deadline for the outcome of a commit that may have gone through", async () => {
    const set = await startSet(3)
    const store = await openStore(set, 12_000, 90_000)
    try {
      const write = (id: string) =>
        store.commit({ id: `commit ${id}`, writes: [{ kind: "insert", collection: entries, organization: acme, doc: entryOf(id, 0) }] })
      await write("before")
      await set.killSecondaries()
      // The primary accepts it, waits for the others, steps down after 10 s, and is elected again: no other member has it.
      const doubtful = write("doubtful")
      await Promise.all([doubtful, set.steppedDown().then(() => set.startAll())])
      expect((await store.open(entries, acme).find({}, { sort: { id: 1 } })).map(({ id }) => id)).to.deep.equal(["before", "doubtful"])
    } finally {
      await store.stop()
      await set.stop()
    }
  })

  it("goes on through an election when the primary of three dies", async () => {
    const set = await startSet(3)
    const store = await openStore(set, outageMs)
    try {
      const load = new Load(store, 24)
      await load.more(200)
      await set.killPrimary()
      await load.more(200)
      await load.end()
      expect(load.refused).to.deep.equal([])
      await verify(store, load)
    } finally {
      await store.stop()
      await set.stop()
    }
  })
})
