// The MongoDB driver on a real replica set: the common contract, and its own promises.
import { expect } from "chai"
import { MongoClient, type Timestamp } from "mongodb"
import type { Commit, Write } from "../../core/contract/store.ts"
import { type Clock, systemClock } from "../../core/kernel/clock.ts"
import { AppError } from "../../core/kernel/errors.ts"
import { createLog } from "../../core/kernel/log.ts"
import { appName } from "../../core/storage/mongodb/connect.ts"
import { createMongoDriver, type MongoDriver } from "../../core/storage/mongodb/driver.ts"
import { keyOf } from "../../core/storage/mongodb/values.ts"
import { createStore } from "../../core/storage/store.ts"
import { mongoAvailable, mongoStartable, sharedMongo, startStandalone } from "../mongodb-server.ts"
import { refusalOf } from "../refusal.ts"
import { runningMs } from "../slowness.ts"
import { byTier } from "../tier.ts"
import { untilAvailable } from "../waiting.ts"
import { storageContract } from "./contract.ts"
import { opened, type Thing, things } from "./mongodb-opened.ts"

const log = createLog("silent")
const acme = "0199aaaa-0000-7000-8000-000000000001"
const rival = "0199aaaa-0000-7000-8000-000000000002"

const suite = mongoAvailable ? describe : describe.skip

if (mongoAvailable) {
  storageContract("mongodb", async (collections) => {
    const driver = createMongoDriver({ url: (await sharedMongo()).freshUrl(), clock: systemClock, log })
    const store = createStore({ driver, collections, clock: systemClock, readDeadlineMs: 60_000 })
    await store.start()
    return {
      store,
      async close() {
        await driver.db.dropDatabase()
        await store.stop()
      },
    }
  })
}

suite("storage: mongodb, its own promises", () => {
  const attempts: [commits: number, outcome: string][] = []
  let driver: MongoDriver
  let drawn = 0
  const draw = (name: string) => `${name}-${++drawn}`
  const insert = (doc: Thing, more: { ifPresent?: "keep"; organization?: string } = {}): Write => ({
    kind: "insert",
    collection: things,
    organization: acme,
    doc,
    ...more,
  })
  const commit = (...writes: Write[]): Commit => ({ id: draw("commit"), writes })
  const stored = () => driver.db.collection<{ _id: string; [field: string]: unknown }>(things.name)
  const read = (id: string, organization = acme) =>
    driver
      .find({
        collection: things,
        organization,
        filter: { id },
        sort: [["id", 1]],
        limit: 1,
        after: undefined,
        deadlineMs: 60_000,
      })
      .then((documents) => documents[0])

  before(async () => {
    driver = await opened([things], { onAttempt: (commits, outcome) => attempts.push([commits, outcome]) })
  })
  beforeEach(() => {
    attempts.length = 0
  })
  after(async () => {
    await driver.db.dropDatabase()
    await driver.stop()
  })

  describe("a snapshot", () => {
    const yieldAfter = async (documents: number) =>
      (await driver.db.admin().command({ setParameter: 1, internalQueryExecYieldIterations: documents }))["was"] as number

    it("shows a commit in all of its documents or in none, where the server lets writes in while it reads", async () => {
      const group = draw("snapshot")
      const idAt = (place: number) => `${group}-${String(place).padStart(3, "0")}`
      const text = "x".repeat(2_000)
      await driver.commitGroup([commit(...Array.from({ length: 400 }, (_, place) => insert({ id: idAt(place), group, text, round: 0 })))])
      const usual = await yieldAfter(2)
      const rounds = byTier({ fast: 10, slow: 40, soak: 40 })
      let [round, torn] = [0, 0]
      const query = { collection: things, organization: acme, filter: { group }, sort: [["id", 1]], limit: 400, after: undefined } as const
      try {
        const reading = Array.from({ length: 3 }, async () => {
          while (round < rounds) {
            const matches = (await driver.find({ ...query, deadlineMs: 60_000, snapshot: true })) as Thing[]
            if (matches.at(0)?.["round"] !== matches.at(-1)?.["round"]) torn++
          }
        })
        while (round < rounds) {
          const $set = { round: ++round }
          const of = (place: number): Write => ({
            kind: "update",
            collection: things,
            organization: acme,
            id: idAt(place),
            update: { $set },
          })
          await driver.commitGroup([commit(of(0), of(399))])
        }
        await Promise.all(reading)
      } finally {
        await yieldAfter(usual)
      }
      expect(torn).to.equal(0)
    })
  })

  describe("a group", () => {
    it("is one transaction, and says which inserts were there already", async () => {
      const existing = draw("kept")
      await driver.commitGroup([commit(insert({ id: existing, mark: "first" }))])
      attempts.length = 0
      const group = Array.from({ length: 20 }, () => commit(insert({ id: draw("row") })))
      expect(await driver.commitGroup(group)).to.deep.equal(group.map(() => ({ created: [true] })))
      expect(attempts).to.deep.equal([[20, "committed"]])
      const again = commit(insert({ id: existing, mark: "second" }, { ifPresent: "keep" }), insert({ id: draw("row") }))
      const [first, second] = await driver.commitGroup([again, commit(insert({ id: draw("row") }))])
      expect([first, second]).to.deep.equal([{ created: [false, true] }, { created: [true] }])
      expect(await read(existing)).to.include({ mark: "first" })
    })

    it("isolates those to blame in a few tries, for any fault", async () => {
      const duplicate = draw("taken")
      await driver.commitGroup([commit(insert({ id: duplicate, slug: duplicate, text: "x" }))])
      attempts.length = 0
      const update = (more: object, id = duplicate): Write => ({
        kind: "update",
        collection: things,
        organization: acme,
        id,
        update: { $set: { a: 1 } },
        ...more,
      })
      const bad: [Commit, code: string, reason: string][] = [
        [commit(insert({ id: draw("half") }), insert({ id: duplicate })), "already_exists", "duplicate_value"],
        [commit(insert({ id: draw("half"), slug: duplicate })), "already_exists", "duplicate_value"],
        [commit(insert({ id: draw("half") }), update({ where: { text: "y" } })), "aborted", "condition_not_met"],
        [commit(insert({ id: draw("half") }), update({}, draw("nowhere"))), "not_found", "document_not_found"],
        [commit(insert({ id: draw("half") }), update({ update: { $inc: { text: 1 } } })), "failed_precondition", "value_type_mismatch"],
        [commit(insert({ id: draw("half"), at: "yesterday" })), "invalid_argument", "invalid_fields"],
      ]
      const good = Array.from({ length: 60 }, () => commit(insert({ id: draw("row") })))
      const group = [...good.slice(0, 30), ...bad.map(([write]) => write), ...good.slice(30)]
      const outcomes = await driver.commitGroup(group)
      for (const [write, code, reason] of bad) {
        const outcome = outcomes[group.indexOf(write)]
        expect(outcome, JSON.stringify(write)).to.be.instanceOf(AppError).with.property("code", code)
        expect((outcome as AppError).details.reason, JSON.stringify(write)).to.equal(reason)
      }
      for (const write of good) expect(outcomes[group.indexOf(write)]).to.deep.equal({ created: [true] })
      expect(await stored().countDocuments({ _id: { $regex: "/half-" } })).to.equal(0)
      expect(attempts.length).to.be.lessThan(40)
    })

    it("recognises a commit that went through before, also beside new ones", async () => {
      const id = draw("count")
      const once: Commit = commit(insert({ id, n: 0 }), {
        kind: "update",
        collection: things,
        organization: acme,
        id,
        update: { $inc: { n: 1 } },
      })
      const first = await driver.commitGroup([once])
      const second = await driver.commitGroup([commit(insert({ id: draw("row") })), once, once])
      expect(second.slice(1)).to.deep.equal([first[0], first[0]])
      expect(await read(id)).to.include({ n: 1 })
    })

    it("bigger than one transaction takes is split, and a document beyond 16 MB refused alone", async () => {
      const text = "x".repeat(4_000_000)
      const group = Array.from({ length: 9 }, () => commit(insert({ id: draw("big"), text })))
      const huge = commit(insert({ id: draw("huge"), parts: [text, text, text, text, text] }))
      const outcomes = await driver.commitGroup([...group, huge])
      for (const outcome of outcomes.slice(0, -1)) expect(outcome).to.deep.equal({ created: [true] })
      const refused = outcomes.at(-1) as AppError
      expect([refused.code, refused.details.reason]).to.deep.equal(["invalid_argument", "document_too_large"])
      await stored().deleteMany({ _id: { $regex: "/big-" } })
    })

    it("meets another node's on the same documents and both go through, once", async () => {
      const other = createMongoDriver({ url: urlOf(driver), clock: systemClock, log })
      await other.start([things])
      const id = draw("contested")
      await driver.commitGroup([commit(insert({ id, n: 0 }))])
      const add = () =>
        commit({ kind: "update", collection: things, organization: acme, id, update: { $inc: { n: 1 } } }, insert({ id: draw("row") }))
      const groups = Array.from({ length: 30 }, () => [add(), add()])
      await Promise.all(groups.map((group, index) => untilAvailable(() => (index % 2 ? driver : other).commitGroup(group))))
      expect(await read(id)).to.include({ n: 60 })
      await other.stop()
    })
  })

  it("does not wait for a transaction that a killed node has left open", async () => {
    const id = draw("locked")
    await driver.commitGroup([commit(insert({ id, n: 0 }))])
    // The state after a node was killed between two commands: the server holds the lock for a minute.
    const dead = new MongoClient(urlOf(driver), { appName })
    const session = dead.startSession()
    session.startTransaction()
    await dead
      .db()
      .collection<{ _id: string }>(things.name)
      .updateOne({ _id: keyOf(acme, id) }, { $inc: { n: 100 } }, { session: session })
    const took = await runningMs(async () => {
      const update = { kind: "update", collection: things, organization: acme, id, update: { $inc: { n: 1 } } } as const
      expect(await driver.commitGroup([commit(update)])).to.deep.equal([{ created: [false] }])
    })
    expect(took).to.be.lessThan(10_000)
    expect(await read(id)).to.include({ n: 1 })
    await dead.close()
  })

  describe("what is stored", () => {
    it("is dates where times are declared, and the same text when read", async () => {
      const id = draw("times")
      const doc = {
        id,
        at: "2026-01-31T12:00:00.123Z",
        tries: [{ at: "2026-01-31T12:00:01.000Z" }],
        values: { at: "2026-01-31T12:00:00Z" },
      }
      await driver.commitGroup([commit(insert(doc))])
      const raw = await stored().findOne({ _id: `${acme}/${id}` })
      expect(raw?.["at"]).to.be.instanceOf(Date)
      expect((raw?.["tries"] as { at: unknown }[] | undefined)?.[0]?.at).to.be.instanceOf(Date)
      expect(raw?.["values"]).to.deep.equal({ at: "2026-01-31T12:00:00Z" })
      expect(await read(id)).to.deep.equal({ ...doc, organization_id: acme })
    })

    it("holds values of any shape unchanged, or refuses them", async () => {
      const id = draw("values")
      const values = JSON.parse(
        '{"a.b":1,"$c":{"$d":"$e"},"":2,"__proto__":{"x":1},"big":9007199254740991,"int":2147483648,"d":1.5,"n":null,"t":"\\u0000"}',
      )
      await driver.commitGroup([commit(insert({ id, values }))])
      await driver.commitGroup([
        commit({
          kind: "update",
          collection: things,
          organization: acme,
          id,
          update: { $set: { copy: values }, $push: { list: { $each: [1] } } },
        }),
      ])
      const thing = (await read(id)) as Thing
      expect(JSON.stringify(thing["values"])).to.equal(JSON.stringify(values))
      expect(JSON.stringify(thing["copy"])).to.equal(JSON.stringify(values))
      expect(thing["list"]).to.deep.equal([{ $each: [1] }])
      const [broken] = await driver.commitGroup([commit(insert({ id: draw("values"), values: { a: ["\ud800"] } }))])
      expect(broken).to.be.instanceOf(AppError).with.property("code", "invalid_argument")
    })

    it("is one document for each organization that uses an id, and updates reach only their own", async () => {
      const id = draw("both")
      await driver.commitGroup([commit(insert({ id, n: 1 })), commit(insert({ id, n: 2 }, { organization: rival }))])
      await driver.commitGroup([commit({ kind: "update", collection: things, organization: rival, id, update: { $inc: { n: 5 } } })])
      expect(await read(id)).to.deep.equal({ id, organization_id: acme, n: 1 })
      expect(await read(id, rival)).to.deep.equal({ id, organization_id: rival, n: 7 })
      const [moved] = await driver.commitGroup([
        commit({ kind: "update", collection: things, organization: rival, id, update: { $set: { organization_id: acme } as never } }),
      ])
      expect(moved).to.be.instanceOf(AppError).with.property("code", "invalid_argument")
      expect(await read(id, rival)).to.include({ organization_id: rival })
    })
  })

  it("asks for a majority and the journal with each commit", async () => {
    const watched = createMongoDriver({ url: `${urlOf(driver)}&monitorCommands=true`, clock: systemClock, log })
    const concern = new Promise((resolve) => {
      watched.db.client.on("commandStarted", ({ commandName, command }) => {
        if (commandName === "commitTransaction") resolve(command["writeConcern"])
      })
    })
    await watched.start([things])
    await watched.commitGroup([commit(insert({ id: draw("row") }))])
    expect(await concern).to.deep.include({ w: "majority", j: true })
    await watched.stop()
  })

  it("reads what it has committed and read, on any later primary", async () => {
    const watched = createMongoDriver({ url: `${urlOf(driver)}&monitorCommands=true`, clock: systemClock, log })
    await watched.start([things])
    const requests: (Timestamp | undefined)[] = []
    const timestamps: Timestamp[] = []
    watched.db.client.on("commandStarted", ({ commandName, command }) => {
      if (commandName === "find") requests.push((command["readConcern"] as { afterClusterTime?: Timestamp }).afterClusterTime)
    })
    watched.db.client.on("commandSucceeded", ({ commandName, reply }) => {
      if (commandName === "commitTransaction" || commandName === "find")
        timestamps.push((reply as { operationTime: Timestamp }).operationTime)
    })
    const look = () =>
      watched.find({ collection: things, organization: acme, filter: {}, sort: [], limit: 1, after: undefined, deadlineMs: 60_000 })
    await watched.commitGroup([commit(insert({ id: draw("row") }))])
    await look()
    await look()
    expect(requests).to.have.length(2)
    for (const [index, time] of requests.entries())
      expect(time && timestamps[index] && time.greaterThanOrEqual(timestamps[index])).to.equal(true)
    await watched.stop()
  })

  it("reads what another node has written, once that has refused a write of its own", async () => {
    const watched = createMongoDriver({ url: `${urlOf(driver)}&monitorCommands=true`, clock: systemClock, log })
    await watched.start([things])
    const id = draw("thing")
    await driver.commitGroup([commit(insert({ id, kind: "theirs" }))])
    let refusedAt: Timestamp | undefined
    let timestamp: Timestamp | undefined
    watched.db.client.on("commandSucceeded", ({ commandName, reply }) => {
      if (commandName === "update") refusedAt = (reply as { operationTime: Timestamp }).operationTime
    })
    watched.db.client.on("commandStarted", ({ commandName, command }) => {
      const concern = command["readConcern"] as { level?: string; afterClusterTime?: Timestamp } | undefined
      if (commandName === "find" && concern?.level === "majority") timestamp = concern.afterClusterTime
    })
    const where = { kind: "ours" }
    const write: Write = { kind: "update", collection: things, organization: acme, id, update: { $set: { kind: "mine" } }, where }
    const [refused] = await watched.commitGroup([commit(write)])
    expect(refused).to.be.instanceOf(AppError).with.property("code", "aborted")
    const options = { organization: acme, filter: { id }, sort: [], limit: 1, after: undefined, deadlineMs: 60_000 }
    expect((await watched.find({ collection: things, ...options }))[0]).to.deep.include({ kind: "theirs" })
    expect(refusedAt && timestamp?.greaterThanOrEqual(refusedAt)).to.equal(true)
    await watched.stop()
  })

  it("gives up a read at its deadline", async () => {
    const docs = Array.from({ length: 3_000 }, () =>
      insert({ id: draw("slow"), list: Array.from({ length: 60 }, (_, index) => ({ index })) }),
    )
    await driver.commitGroup([commit(...docs)])
    const filter = { $or: Array.from({ length: 400 }, (_, index) => ({ "list.index": { $lt: -index - 1 } })) }
    const query = { collection: things, organization: acme, filter, limit: 10, deadlineMs: 5 }
    // The server itself must report it, however late.
    const clock: Clock = { ...systemClock, after: (milliseconds, run) => systemClock.after(milliseconds + 60_000, run) }
    const patient = createMongoDriver({ url: urlOf(driver), clock, log })
    await patient.start([things])
    const error = await patient.count(query).then(String, (thrown: unknown) => thrown)
    await patient.stop()
    expect(error).to.be.instanceOf(AppError).with.property("code", "deadline_exceeded")
    expect((error as AppError).details.reason).to.equal("read_timeout")
    await stored().deleteMany({ _id: { $regex: "/slow-" } })
  })

  it("pages by time from an index, however deep", async () => {
    const after = ["2026-01-31T12:00:00.123Z", "zzz"]
    const { toAfter, toFilter } = await import("../../core/storage/mongodb/filter.ts")
    const place = { collection: things, organization: acme }
    const sort = [["at", -1] as const, ["id", -1] as const]
    const filter = { $and: [toFilter(place, {}), toAfter(place, sort, after)] }
    const plan = await driver.db.collection(things.name).find(filter).sort({ at: -1, _id: -1 }).explain("queryPlanner")
    const text = JSON.stringify(plan["queryPlanner"].winningPlan)
    expect(text).to.include("IXSCAN").and.include("organization_id,-at,-_id").and.not.include('"SORT"')
  })

  it("refuses an invalid URL without repeating its password", () => {
    const make = () => createMongoDriver({ url: "mongodb://user:hunter2@:bad:url/", clock: systemClock, log })
    expect(make).to.throw(AppError, "storage.url").with.property("code", "invalid_argument")
    expect(make).not.to.throw("hunter2")
  })

  it("refuses a server that is not a replica set, with the line that makes it one", async function () {
    if (!mongoStartable) return this.skip()
    const standalone = await startStandalone()
    const refused = createMongoDriver({ url: standalone.url, clock: systemClock, log })
    const { code, details, message } = await refusalOf(refused.start([things]))
    expect([code, details]).to.deep.equal(["failed_precondition", { reason: "unsupported_server" }])
    expect(message).to.include("mongod --replSet rs0").and.include("rs.initiate()")
    await standalone.stop()
  })
})

function urlOf(driver: MongoDriver): string {
  const { hosts, replicaSet } = driver.db.client.options
  return `mongodb://${hosts.join(",")}/${driver.db.databaseName}?replicaSet=${replicaSet}`
}
