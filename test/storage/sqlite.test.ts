// The embedded driver: the contract, and its own promises (one process, a writer that may die, full disks, expiry).
import { spawn } from "node:child_process"
import { once } from "node:events"
import type { Worker } from "node:worker_threads"
import { expect } from "chai"
import { type Clock, systemClock } from "../../core/kernel/clock.ts"
import { keepStoreThreads } from "../../core/storage/sqlite/thread.ts"
import { expectShortTurn, repeatedLongestTurn } from "../longest-turn.ts"
import { refusalOf } from "../refusal.ts"
import { ShiftedClock } from "../shifted-clock.ts"
import { until } from "../waiting.ts"
import { storageContract } from "./contract.ts"
import { largeList } from "./contract-large.ts"
import { events, type OpenedFile, openFile } from "./opened.ts"

storageContract("sqlite", (collections) => openFile(collections))

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

  it("leaves the main thread to others while large documents are looked up at once", async () => {
    opened = await openFile([events])
    const ids = Array.from({ length: 120 }, (_, n) => `large ${n}`)
    for (const id of ids) await insert(id, { kind: "large", list: largeList })
    const requests = ["absent", ...ids, "absent too"]
    const { milliseconds, value } = await repeatedLongestTurn(() => Promise.all(requests.map((id) => opened.store.open(events).get(id))))
    expect(value.map((note) => note?.id)).to.deep.equal([undefined, ...ids, undefined])
    expectShortTurn(milliseconds, "look-ups of 4 MB")
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
      const collection = opened.store.open(events)
      const longQuery = () => collection.find({ text: "none" })
      const lookUp = async (id: string) => (await collection.get(id))?.id
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
    const notes = await all()
    expect(notes.length).to.be.greaterThan(2).and.lessThan(300)
    expect(notes.at(-1)).to.include({ id: "small", kind: "kept" })
    const last = `big-${notes.length - 2}`
    expect(notes.some((doc) => doc.id === last)).to.equal(true)
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

  it("is not ready after many commits that found no room, until there is room for as many", async () => {
    opened = await openFile([events], { maxBytes: 8_000_000 })
    const { store } = opened
    const text = "x".repeat(20_000)
    let big = 0
    for (let refused = 0; refused < 24; big++) await insert(`big-${big}`, { text }).catch(() => refused++)
    const free = (ids: number[]) =>
      store.commit({
        id: `free-${ids[0]}`,
        writes: ids.map((n) => ({ kind: "remove", collection: events, id: `big-${n}`, optional: true }) as const),
      })
    const numbers = Array.from({ length: 200 }, (_, n) => n)
    await free(numbers.slice(0, 80))
    for (let look = 0; look < 3; look++) expect((await refusalOf(store.ready())).details.reason).to.equal("storage_full")
    await free(numbers.slice(80))
    for (let look = 0; look < 3; look++) await store.ready()
  })

  it("is not ready while a commit is in progress for longer than any should be", async () => {
    const clock = new ShiftedClock()
    clock.stand()
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
    clock.ahead += 2_001
    expect((await refusalOf(store.ready())).details.reason).to.equal("storage_timeout")
    go()
    await slow
    await store.ready()
    // A commit whose outcome arrived during a pause of the machine is not in progress.
    const arrived = Promise.withResolvers<void>()
    driver.commitGroup = (commits) => arrived.promise.then(() => commits.map(() => ({ created: [true] })))
    const quick = insert("quick", {})
    await new Promise((resolve) => setImmediate(resolve))
    clock.ahead += 2_001
    setImmediate(arrived.resolve)
    await store.ready()
    await quick
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
})
