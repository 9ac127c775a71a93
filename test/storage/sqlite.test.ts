// The embedded driver: the contract, and what only it promises (one process, a writer that may die, full disks, expiry).
import { spawn } from "node:child_process"
import { once } from "node:events"
import { DatabaseSync } from "node:sqlite"
import type { Worker } from "node:worker_threads"
import { expect } from "chai"
import fc from "fast-check"
import { defineCollection } from "../../core/contract/collection.ts"
import type { Filter } from "../../core/contract/store.ts"
import { type Clock, systemClock } from "../../core/kernel/clock.ts"
import { MovableClock } from "../../core/kernel/movable-clock.ts"
import { shapeOf } from "../../core/storage/sqlite/shape.ts"
import { keepStoreThreads } from "../../core/storage/sqlite/thread.ts"
import { refusalOf } from "../refusal.ts"
import { byTier } from "../tier.ts"
import { until } from "../waiting.ts"
import { type Note, notes, storageContract } from "./contract.ts"
import { filter, scalar } from "./contract-queries.ts"
import { type OpenedFile, openFile } from "./opened.ts"
import { matchesReference } from "./reference.ts"

storageContract("sqlite", (collections) => openFile(collections))

const events = defineCollection<Note>()({
  name: "events",
  scope: "global",
  times: ["until"],
  indexes: [{ fields: ["kind"] }],
  expires: "until",
})

describe("storage: sqlite file", () => {
  let opened: OpenedFile
  afterEach(() => opened.close())

  const insert = (id: string, more: object = {}) =>
    opened.store.commit({ id: `c-${id}`, writes: [{ kind: "insert", collection: events, doc: { id, ...more } }] })
  const all = () => opened.store.open(events).find({}, { limit: 10_000 })

  it("keeps everything over a stop and a start, the memory of commits too", async () => {
    opened = await openFile([events])
    await insert("a", { kind: "x" })
    const { file } = opened
    await opened.store.stop()
    const again = await openFile([events], { file })
    const repeated = await again.store.commit({ id: "c-a", writes: [{ kind: "insert", collection: events, doc: { id: "a" } }] })
    expect(repeated.created).to.deep.equal([true])
    expect(await again.store.open(events).find({ kind: "x" })).to.deep.equal([{ id: "a", kind: "x" }])
    await again.close()
  })

  it("starts another reading thread only where reads wait for one", async () => {
    const started: Worker[] = []
    const note = (worker: Worker) => void (worker.threadName === "millrace-reader" && started.push(worker))
    await keepStoreThreads(false)
    process.on("worker", note)
    try {
      opened = await openFile([events])
      const get = () => opened.store.open(events).get("none")
      for (let count = 0; count < 20; count++) expect([await all(), await get()]).to.deep.equal([[], undefined])
      expect(started).to.have.length(1)
      const waiting = Array.from({ length: 100 }, () => all())
      await until("a second thread", async () => {
        waiting.push(...Array.from({ length: 100 }, () => all()))
        await Promise.race(waiting.slice(-100))
        return started.length > 1
      })
      await Promise.all(waiting)
      expect(started).to.have.length(2)
    } finally {
      process.off("worker", note)
      await keepStoreThreads(true)
    }
  })

  it("answers look-ups by id beside a long query, on a thread that is started for them", async () => {
    const started: Worker[] = []
    const note = (worker: Worker) => void (worker.threadName === "millrace-reader" && started.push(worker))
    await keepStoreThreads(false)
    process.on("worker", note)
    try {
      opened = await openFile([events], { readers: 1 })
      const text = "x".repeat(1_000)
      await Promise.all(Array.from({ length: 5_000 }, (_, index) => insert(`e${index}`, { text })))
      const kept = opened.store.open(events)
      const longQuery = () => kept.find({ text: "none" })
      const lookUp = async (id: string) => (await kept.get(id))?.id
      expect([await longQuery(), await lookUp("e1")]).to.deep.equal([[], "e1"])
      expect(started).to.have.length(1)
      await until("a thread for look-ups", async () => {
        expect(await Promise.all([longQuery(), lookUp("e2"), lookUp("none")])).to.deep.equal([[], "e2", undefined])
        return started.length > 1
      })
      expect(await Promise.all([longQuery(), lookUp("e3")])).to.deep.equal([[], "e3"])
      expect(started).to.have.length(2)
    } finally {
      process.off("worker", note)
      await keepStoreThreads(true)
    }
  })

  it("loses and doubles nothing when the writing thread dies again and again", async () => {
    let deaths = 0
    opened = await openFile([events], { onWriterDeath: () => deaths++ })
    await insert("counter", { count: 0, seen: [] })
    const steps = 400
    const outcomes: Promise<unknown>[] = []
    for (let step = 0; step < steps; step++) {
      const more = { kind: "update", collection: events, id: "counter", update: { $inc: { count: 1 }, $push: { seen: step } } } as const
      const doc = { id: `e${step}` }
      outcomes.push(opened.store.commit({ id: `step-${step}`, writes: [more, { kind: "insert", collection: events, doc }] }))
      if (step % 80 === 40) {
        await outcomes[step - 20]
        await opened.driver.killWriter()
      }
    }
    await Promise.all(outcomes)
    expect(deaths).to.be.greaterThan(1)
    const counter = await opened.store.open(events).get("counter")
    expect(counter?.["count"]).to.equal(steps)
    expect(counter?.["seen"]).to.deep.equal(Array.from({ length: steps }, (_, step) => step))
    expect(await all()).to.have.length(steps + 1)
  })

  it("is refused to a second store, and free again after kill -9", async () => {
    opened = await openFile([events])
    const { file } = opened
    let error: unknown
    await openFile([events], { file }).catch((refused: unknown) => {
      error = refused
    })
    expect(String(error)).to.include("in use by another running process").and.include(file)
    await insert("still-works")
    await opened.store.stop()

    const script = `import { lockFile } from ${JSON.stringify(new URL("../../core/storage/sqlite/lock.ts", import.meta.url).href)}
      lockFile(${JSON.stringify(file)}); process.stdout.write("held"); setInterval(() => {}, 1000)`
    const holder = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] })
    await once(holder.stdout, "data")
    const { file: held, outcome } = await openFile([events], { file }).then(
      () => ({ file, outcome: "opened" }),
      (refused: unknown) => ({ file, outcome: String(refused) }),
    )
    expect(outcome).to.include("in use by another running process").and.include(held)
    holder.kill("SIGKILL")
    await once(holder, "exit")
    const after = await openFile([events], { file })
    expect(await after.store.open(events).get("still-works")).to.deep.equal({ id: "still-works" })
    await after.close()
  })

  it("answers `unavailable` when the disk is full, keeps what it has and goes on reading", async () => {
    opened = await openFile([events], { maxBytes: 4_000_000 })
    await insert("small", { kind: "kept" })
    const error = await refusalOf(
      (async () => {
        for (let index = 0; index < 300; index++) await insert(`big-${index}`, { text: "x".repeat(20_000) })
      })(),
    )
    expect([error.code, error.details.reason]).to.deep.equal(["unavailable", "storage_full"])
    expect(error.retryAfterS).to.be.greaterThan(0)
    const kept = await all()
    expect(kept.length).to.be.greaterThan(2).and.lessThan(300)
    expect(kept.at(-1)).to.include({ id: "small", kind: "kept" })
    const last = `big-${kept.length - 2}`
    expect(kept.some((doc) => doc.id === last)).to.equal(true)
    await opened.store.commit({ id: "free", writes: [{ kind: "remove", collection: events, id: last }] })
    await insert("after", {})
  })

  it("is not ready from the first commit that found no room until there is room for such, though small ones fit meanwhile", async () => {
    opened = await openFile([events], { maxBytes: 4_000_000 })
    const { store } = opened
    await store.ready()
    let big = 0
    const error = await refusalOf(
      (async () => {
        for (; big < 300; big++) await insert(`big-${big}`, { text: "x".repeat(20_000) })
      })(),
    )
    expect(error.details.reason).to.equal("storage_full")
    const without = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) => ({ kind: "remove", collection: events, id: `big-${from + index}` }) as const)
    await store.commit({ id: "a-little-room", writes: without(0, 2) })
    for (let index = 0; index < 20; index++) {
      await insert(`little-${index}`, {})
      expect((await refusalOf(store.ready())).details.reason).to.equal("storage_full")
    }
    await store.commit({ id: "room", writes: without(2, 72) })
    for (let index = 0; index < 3; index++) await store.ready()
    await insert("at-work-again", { text: "x".repeat(20_000) })
  })

  it("is not ready while a commit is under way for longer than any should be", async () => {
    const clock = new MovableClock()
    opened = await openFile([events], {}, { clock })
    const { driver, store } = opened
    const commitGroup = driver.commitGroup.bind(driver)
    let go = () => {}
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    driver.commitGroup = (commits) => gate.then(() => commitGroup(commits))
    const slow = insert("slow", {})
    await new Promise((resolve) => setImmediate(resolve))
    await store.ready()
    clock.move(2_001)
    expect((await refusalOf(store.ready())).details.reason).to.equal("storage_timeout")
    go()
    await slow
    await store.ready()
  })

  it("gives a read up at its deadline, and commits meanwhile", async () => {
    opened = await openFile([events])
    for (let group = 0; group < 20; group++) {
      const writes = Array.from({ length: 500 }, (_, index) => {
        const doc = { id: `${group}-${index}`, text: "abc ".repeat(150), n: index }
        return { kind: "insert", collection: events, doc } as const
      })
      await opened.store.commit({ id: `fill-${group}`, writes })
    }
    const slow = refusalOf(opened.store.open(events).count({ text: { $ne: "abc" }, n: { $not: { $lt: -1 } } }, { deadlineMs: 5 }))
    await insert("meanwhile")
    expect(await opened.store.open(events).get("meanwhile")).to.deep.equal({ id: "meanwhile" })
    expect((await slow).code).to.equal("deadline_exceeded")
    expect(await opened.store.open(events).count({ text: { $ne: "abc" } })).to.equal(10_001)
  })

  it("answers a quick read though it comes to its turn past its deadline", async () => {
    opened = await openFile([events])
    await insert("kept")
    expect(await opened.store.open(events).find({ id: "kept" }, { deadlineMs: 0.001 })).to.deep.equal([{ id: "kept" }])
  })

  it("refuses a commit that JSON cannot hold, and none of its neighbours", async () => {
    opened = await openFile([events])
    const outcomes = await Promise.allSettled([insert("a"), insert("b", { n: 5n }), insert("c"), insert("d", { n: 6n })])
    expect(outcomes.map(({ status }) => status)).to.deep.equal(["fulfilled", "rejected", "fulfilled", "rejected"])
    expect(await refusalOf(insert("e", { n: 7n }))).to.include({ code: "invalid_argument" })
    expect((await all()).map((doc) => doc.id)).to.deep.equal(["a", "c"])
  })

  it("removes what has expired, and nothing else", async () => {
    let now = Date.parse("2026-05-01T00:00:00.000Z")
    let fire: (() => void) | undefined
    const clock: Clock = {
      now: () => now,
      monotonic: systemClock.monotonic,
      after(_milliseconds, run) {
        fire = run
        return () => undefined
      },
    }
    opened = await openFile([events], { clock })
    const writes = Array.from({ length: 450 }, (_, index) => {
      const doc = { id: `old-${index}`, until: "2026-05-01T00:00:10.000Z" }
      return { kind: "insert", collection: events, doc } as const
    })
    await opened.store.commit({ id: "fill", writes })
    await insert("later", { until: "2026-06-01T00:00:00.000Z" })
    await insert("never")
    await insert("no-time", { until: 5 })
    await insert("a-list", { until: ["2026-04-01T00:00:00.000Z"] })
    const round = async () => {
      const run = fire
      fire = undefined
      run?.()
      while (!fire) await new Promise(setImmediate)
    }
    await round()
    expect(await opened.store.open(events).count({})).to.equal(454)
    now += 20_000
    await round()
    expect((await all()).map((doc) => doc.id)).to.deep.equal(["a-list", "later", "never", "no-time"])
  })

  it("makes and drops indexes as the declaration changes, also over lists written before", async () => {
    opened = await openFile([events])
    await insert("a", { tag: ["x", "y"], kind: "k" })
    await insert("b", { tag: "x" })
    const { file } = opened
    await opened.store.stop()
    const changed = defineCollection<Note>()({ ...events, indexes: [{ fields: ["tag"] }, { fields: ["-n", "tag"] }] })
    const again = await openFile([changed], { file })
    const found = await again.store.open(changed).find({ tag: "x" })
    expect(found.map((doc) => doc.id)).to.deep.equal(["a", "b"])
    await again.store.stop()
    const names = new DatabaseSync(file, { readOnly: true })
      .prepare("SELECT name FROM sqlite_master WHERE type='index' AND tbl_name='events'")
      .all()
    expect(names).to.have.length(5)
    await again.close()
  })

  it("refuses a unique index over documents that break it, and names collection and field", async () => {
    opened = await openFile([events])
    await insert("a", { kind: "same" })
    await insert("b", { kind: "same" })
    const { file } = opened
    await opened.store.stop()
    const strict = defineCollection<Note>()({ ...events, indexes: [{ fields: ["kind"], unique: true }] })
    let message = ""
    await openFile([strict], { file }).catch((error: unknown) => {
      message = String(error)
    })
    expect(message).to.include('"events"').and.include("kind")
  })

  const planning = async () => {
    opened = await openFile([notes])
    await opened.store.stop()
    const database = new DatabaseSync(opened.file, { readOnly: true })
    database.function("mr_matches", { varargs: true }, () => 1)
    return database
  }

  it("serves lists and look-ups from indexes", async () => {
    const database = await planning()
    const { statementOf, toWire } = await import("../../core/storage/sqlite/query.ts")
    const base = { collection: notes, organization: "o", limit: 10, deadlineMs: 1, after: undefined }
    const plans = [
      {
        filter: { group: "g" },
        sort: [
          ["rank", -1],
          ["id", -1],
        ],
      },
      { filter: { slug: "s", $or: [{ a: 1 }] }, sort: [["id", 1]] },
      {
        filter: { created_at: { $gte: "2026" } },
        sort: [
          ["created_at", 1],
          ["id", 1],
        ],
      },
      { filter: {}, sort: [["id", -1]] },
      { filter: { "values.a": { $in: ["a", "b", "a"] } }, sort: [["id", 1]] },
      {
        filter: { group: { $in: ["g", null, 3] }, slug: { $in: ["s"] } },
        sort: [
          ["rank", -1],
          ["id", -1],
        ],
      },
      {
        filter: { "values.a": true },
        sort: [
          ["rank", -1],
          ["id", -1],
        ],
      },
    ] as const
    for (const plan of plans) {
      const wire = toWire({ ...base, ...plan }, 0)
      const { sql } = statementOf(wire, shapeOf(notes), false)
      const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
      const text = rows.map((row) => String(row["detail"])).join("; ")
      expect(text, JSON.stringify(plan))
        .to.match(/SEARCH .* USING INDEX/)
        .and.not.include("TEMP B-TREE")
      const searched = rows.flatMap((row) => /^SEARCH "?contract_notes.*\((.*)\)$/.exec(String(row["detail"]))?.[1] ?? [])
      if ("slug" in plan.filter && plan.filter.slug === "s") expect(searched, "by a sparse index").to.deep.equal(["org=? AND $slug=?"])
      if ("values.a" in plan.filter) {
        const each = plan.filter["values.a"] === true ? ["org=?"] : Array(2).fill("org=? AND $values.a=?")
        expect(searched, "of each value, or the index of that value alone").to.deep.equal(each)
      }
      if ("group" in plan.filter && plan.filter.group !== "g") expect(searched).to.deep.equal(Array(3).fill("org=? AND $group=?"))
    }
    database.close()
  })

  it("searches a range between its own ends, and of one end to that of the type", async () => {
    const { statementOf, toWire } = await import("../../core/storage/sqlite/query.ts")
    const boundsOf = (created_at: object) => {
      const query = { collection: notes, organization: "o", limit: 10, deadlineMs: 1, after: undefined, filter: { created_at } }
      const { sql } = statementOf(toWire({ ...query, sort: [["created_at", -1]] }, 0), shapeOf(notes), false)
      return sql.match(/"\$created_at"[<>]=?(?:\?|x?'')/g)
    }
    const [from, to] = [`"$created_at">=?`, `"$created_at"<?`]
    expect(boundsOf({ $gte: "2026", $lt: "2027" })).to.deep.equal([from, to])
    expect(boundsOf({ $gte: "2026" })).to.deep.equal([from, `"$created_at"<x''`])
    expect(boundsOf({ $lt: "2027" })).to.deep.equal([to, `"$created_at">=''`])
    expect(boundsOf({ $gte: 5, $lt: "2027" })).to.deep.equal([from, `"$created_at"<''`, to, `"$created_at">=''`])
  })

  it("finds what the reference finds where SQL says all that a filter does, and counts it", async () => {
    opened = await openFile([notes])
    const shapes = fc.record({ a: scalar, group: scalar, rank: scalar }, { requiredKeys: [] })
    const docs = fc.sample(shapes, { numRuns: 300, seed: 3 }).map(({ a, ...rest }, n): Note => {
      return { id: `n${String(n).padStart(3, "0")}`, slug: `s${n}`, ...rest, values: a === undefined ? {} : { a } }
    })
    await opened.store.commit({ id: "c", writes: docs.map((doc) => ({ kind: "insert", collection: notes, organization: "o", doc })) })
    const equal = fc.tuple(fc.constantFrom("values.a", "group", "rank"), scalar).map(([path, value]) => ({ [path]: value }))
    const exact = fc.array(equal, { minLength: 1, maxLength: 3 }).map(($and): Filter => ({ $and }))
    const collection = opened.store.open(notes, "o")
    const queries = (of: fc.Arbitrary<Filter>, all: number) =>
      fc.sample(of, { numRuns: byTier({ fast: all / 4, slow: all, soak: all }), seed: 5 })
    for (const query of [...queries(filter, 400), ...queries(exact, 100), { slug: "s7" }]) {
      const expected = docs.filter((doc) => matchesReference(doc, query)).map(({ id }) => id)
      const found = await collection.find(query, { limit: 1_000 })
      expect([found.map(({ id }) => id), await collection.count(query)], JSON.stringify(query)).to.deep.equal([expected, expected.length])
    }
  })

  it("looks up long lists by the index of their field, and then puts what it found in order", async () => {
    const database = await planning()
    const { statementOf, toWire } = await import("../../core/storage/sqlite/query.ts")
    const planOf = (length: number, path: string) => {
      const filter = { [path]: { $in: Array.from({ length }, (_, n) => `v${n}`) } }
      const query = { collection: notes, organization: "o", limit: 10, deadlineMs: 1, after: undefined, filter, sort: [["id", 1]] as const }
      const { sql } = statementOf(toWire(query, 0), shapeOf(notes), false)
      return database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map((row) => String(row["detail"]))
        .join("; ")
    }
    expect(planOf(100, "values.a")).to.include("$values.a=?").and.include("TEMP B-TREE")
    // An index that has another field before it is of no use: a search for each value would be a walk for each.
    expect(planOf(2, "rank")).to.not.include("UNION")
    database.close()
  })
})
