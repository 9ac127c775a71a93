// A lost child process: only the culprit fails, its neighbours' events run again, and a pipeline that repeatedly costs children
// is isolated and paused.
import { readdirSync, readFileSync } from "node:fs"
import { getCompileCacheDir } from "node:module"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { expect } from "chai"
import { systemClock } from "../../../core/kernel/clock.ts"
import type { SandboxSight } from "../../../core/pipeline/sandbox/create-sandbox.ts"
import type { Program, Sandbox } from "../../../core/pipeline/sandbox/sandbox.ts"
import { RunningTime } from "../../slowness.ts"
import { expectWithin } from "../../tier.ts"
import { callOf, programOf, sandboxUnderTest } from "./sandbox-under-test.ts"

// One native call that V8 does not interrupt.
const bomb = "function transform(event) { return event.bomb ? { at: Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1) } : event }"

function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return (
          readFileSync(`/proc/${name}/stat`, "utf8").split(") ")[1]?.split(" ")[1] === String(pid) &&
          readFileSync(`/proc/${name}/cmdline`, "utf8").includes("run-main")
        )
      } catch {
        return false
      }
    })
    .map(Number)
}

describe("sandbox containment", () => {
  let sandbox: Sandbox
  let sights: SandboxSight[]
  let elapsed = 0
  let passes = false
  let good: Program

  beforeEach(async () => {
    sights = []
    elapsed = 0
    passes = false
    // The test moves the time, so no pause ends before its checks. Timers run as usual.
    const clock = { ...systemClock, monotonic: () => elapsed + (passes ? performance.now() : 0) }
    sandbox = sandboxUnderTest({ clock, observe: (sight) => sights.push(sight) })
    await sandbox.start()
    good = await programOf(sandbox, "function transform(event) { return { n: event.n + 1 } }")
  })
  afterEach(() => sandbox.stop())

  const lost = () => sights.filter((sight) => sight.type === "child_lost").length

  it("fails only the culprit of a group, and runs the others and all neighbours again", async () => {
    const program = await programOf(sandbox, bomb)
    const hostile = Array.from({ length: 9 }, (_, i) =>
      sandbox.run(callOf(program, i === 4 ? { bomb: 1 } : { i }, { organization: "hostile" })),
    )
    const neighbours = Array.from({ length: 50 }, (_, n) => sandbox.run(callOf(good, { n }, { pipelineId: `good${n % 5}` })))
    const results = await Promise.all(hostile)
    results.forEach((result, i) => {
      if (i === 4) expect(result).to.include({ ok: false, kind: "timeout" })
      else expect(result).to.include({ ok: true, event: `{"i":${i}}` })
    })
    for (const [n, result] of (await Promise.all(neighbours)).entries()) expect(result).to.include({ ok: true, event: `{"n":${n + 1}}` })
    expect(lost()).to.equal(1)
  })

  it("runs events again that were in hand when a child was killed from outside", async () => {
    const pids = childrenOf(process.pid)
    const events = Array.from({ length: 200 }, (_, n) => sandbox.run(callOf(good, { n })))
    // The active process and its spare.
    for (const pid of pids) process.kill(pid, "SIGKILL")
    for (const [n, result] of (await Promise.all(events)).entries()) expect(result).to.include({ ok: true, event: `{"n":${n + 1}}` })
    expect(lost()).to.be.within(1, 2)
    expect(childrenOf(process.pid).some((pid) => pids.includes(pid))).to.equal(false)
  })

  it("pauses a pipeline that has cost a child twice, longer each time, and only it", async () => {
    const program = await programOf(sandbox, bomb)
    const send = (body: unknown) => sandbox.run(callOf(program, body, { organization: "hostile" }))
    expect(await send({ bomb: 1 })).to.include({ ok: false, kind: "timeout" })
    expect(await send({ i: 1 })).to.include({ ok: true })
    expect(await send({ bomb: 1 })).to.include({ ok: false, kind: "timeout" })
    expect(await send({ i: 1 })).to.include({ ok: false, kind: "penalty", retryAfterS: 1 })
    expect((await sandbox.run(callOf(good, { n: 1 }))).ok).to.equal(true)
    elapsed += 1_001
    const started = sights.filter((sight) => sight.type === "child_started").length
    expect(await send({ i: 1 })).to.include({ ok: true, event: '{"i":1}' })
    expect(sights.filter((sight) => sight.type === "child_started").length).to.be.greaterThan(started)
    expect(await send({ bomb: 1 })).to.include({ ok: false, kind: "timeout" })
    expect(await send({ i: 1 })).to.include({ ok: false, kind: "penalty", retryAfterS: 2 })
    expect(sights.filter((sight) => sight.type === "paused").map((sight) => Math.round(sight.milliseconds))).to.deep.equal([1_000, 2_000])
    const mended = await programOf(sandbox, "function transform(event) { return { mended: true } }")
    expect(await sandbox.run(callOf(mended, {}, { organization: "hostile" }))).to.include({ ok: true })
  })

  it("does not hold against an event what its process waits for the processor", async () => {
    const program = await programOf(sandbox, "function transform(event) { let n = 0; while (n < 1e7) n++; return { n } }")
    // Stopped half of the time, longer than a transform's limit.
    let times = 0
    const away = setInterval(() => {
      const pids = childrenOf(process.pid)
      for (const pid of pids) process.kill(pid, "SIGSTOP")
      setTimeout(() => {
        for (const pid of pids) process.kill(pid, "SIGCONT")
        times++
      }, 100)
    }, 200)
    try {
      for (let n = 0; times < 8; n++) {
        expect(await sandbox.run(callOf(program, { n }))).to.include({ ok: true, event: '{"n":10000000}' })
      }
    } finally {
      clearInterval(away)
      await pause(200)
    }
    expect(lost()).to.equal(0)
  })

  it("does not hold against an event that its process stood still", async () => {
    const program = await programOf(sandbox, "function transform(event) { let n = 0; while (n < 4e6) n++; return { n } }")
    const pids = childrenOf(process.pid)
    let stood = false
    // Longer than an event's limit in wall time, always with one event in progress.
    const cached = pause(100).then(async () => {
      for (const pid of pids) process.kill(pid, "SIGSTOP")
      await pause(3_500)
      for (const pid of pids) process.kill(pid, "SIGCONT")
      stood = true
    })
    for (let n = 0; !stood; n++) expect(await sandbox.run(callOf(program, { n }))).to.include({ ok: true, event: '{"n":4000000}' })
    await cached
    expect(lost()).to.equal(0)
  })

  it("keeps neighbours' p99 under a second while one pipeline bombs every event", async () => {
    const program = await programOf(sandbox, bomb)
    passes = true
    let bombing = true
    const bombed = (async () => {
      while (bombing)
        await sandbox
          .run(callOf(program, { bomb: 1 }, { organization: "hostile" }))
          .then(() => new Promise((resolve) => setImmediate(resolve)))
    })()
    const waits: number[] = []
    const time = new RunningTime()
    while (waits.length < 1_000 || lost() < 2) {
      await Promise.all(
        Array.from({ length: 10 }, async (_, n) => {
          const before = time.now()
          expect(await sandbox.run(callOf(good, { n }, { pipelineId: `good${n}` }))).to.include({ ok: true })
          waits.push(time.now() - before)
        }),
      )
    }
    bombing = false
    await bombed
    time.stop()
    waits.sort((a, b) => a - b)
    const p99 = waits[Math.floor(waits.length * 0.99)] ?? 0
    expectWithin(1_000, p99, "the neighbours' p99")
    expect(lost()).to.be.within(2, 6)
  })

  it("gives its children no environment of ours, and permissions to read the program and to keep what Node compiled of it", () => {
    const [pid = 0] = childrenOf(process.pid)
    const codeCache = getCompileCacheDir()
    const environment = readFileSync(`/proc/${pid}/environ`, "utf8")
    expect(
      environment
        .split("\0")
        .filter(Boolean)
        .map((line) => line.split("=")[0])
        .sort(),
    ).to.deep.equal(["LANG", "LC_ALL", ...(codeCache === undefined ? [] : ["NODE_COMPILE_CACHE"]), "TZ"])
    const flags = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
    expect(flags).to.include("--permission")
    expect(flags.filter((flag) => /allow-fs-write|allow-child-process|allow-fs-read=\*/.test(flag))).to.deep.equal(
      codeCache === undefined ? [] : [`--allow-fs-write=${join(codeCache, "sandbox")}/`],
    )
  })

  it("answers what waits when it stops", async () => {
    const waiting = sandbox.run(callOf(good, { n: 1 }))
    await sandbox.stop()
    expect(await waiting).to.include({ ok: false, kind: "unavailable" })
  })
})
