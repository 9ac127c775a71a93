// Isolated and replaced processes of the sandbox: of an organization that repeatedly costs time, of a long compilation, and of a
// grown process.
import { expect } from "chai"
import type { SandboxSight } from "../../../core/pipeline/sandbox/create-sandbox.ts"
import type { Sandbox } from "../../../core/pipeline/sandbox/sandbox.ts"
import { callOf, programOf, sandboxUnderTest } from "./sandbox-under-test.ts"

describe("sandbox fairness", () => {
  let sandbox: Sandbox
  before(async () => {
    sandbox = sandboxUnderTest()
    await sandbox.start()
  })
  after(() => sandbox.stop())

  it("gives an organization that keeps costing time a process that no other shares", async () => {
    const impatient = sandboxUnderTest({ settings: { timeout_ms: 10, hard_deadline_ms: 100 } })
    await impatient.start()
    const endless = await programOf(sandbox, "function transform() { for (;;); }")
    const quick = await programOf(sandbox, "function transform(event) { return event }")
    const kinds = new Set<string>()
    // Each pipeline exceeds its time only once, so none is paused on its own.
    for (let i = 0; i < 64; i++) {
      const result = await impatient.run(callOf(endless, {}, { organization: "runaway", pipelineId: `once-${i}` }))
      kinds.add(result.ok ? "ok" : result.kind)
    }
    expect([...kinds]).to.deep.equal(["timeout"])
    let answered = 0
    const flood = Array.from({ length: 8 }, (_, i) =>
      impatient.run(callOf(endless, {}, { organization: "runaway", pipelineId: `again-${i}` })).then(() => answered++),
    )
    for (let i = 0; i < 8; i++) {
      expect(await impatient.run(callOf(quick, { i }, { organization: "quiet" }))).to.include({ ok: true })
      expect(impatient.shares().sandbox).to.deep.equal([])
    }
    expect(answered).to.be.below(8)
    await Promise.all(flood)
    await impatient.stop()
  })
})

describe("a sandbox process that has grown", () => {
  it("is replaced between events, and refuses none", async () => {
    const sights: SandboxSight[] = []
    // Less than any process uses, so each check finds one to replace.
    const sandbox = sandboxUnderTest({ settings: { max_process_mb: 1 }, observe: (sight) => sights.push(sight) })
    await sandbox.start()
    try {
      const program = await programOf(sandbox, "function transform(event) { return event }")
      const recycled = () => sights.filter((sight) => sight.type === "child_lost").map((sight) => sight.cause)
      for (let i = 0; recycled().length < 2; i++) {
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, n) => sandbox.run(callOf(program, { i, n }, { pipelineId: `pipeline-${n}` }))),
        )
        for (const [n, result] of results.entries()) expect(result).to.include({ ok: true, event: JSON.stringify({ i, n }) })
      }
      expect(new Set(recycled())).to.deep.equal(new Set(["recycled"]))
    } finally {
      await sandbox.stop()
    }
  })
})

describe("a schema that takes longer than two seconds", () => {
  let sandbox: Sandbox
  before(async () => {
    sandbox = sandboxUnderTest()
    await sandbox.start()
  })
  after(() => sandbox.stop())

  it("is refused at save, without holding up events or what waits behind it", async () => {
    const program = await programOf(sandbox, "function transform() { return { ok: 1 } }")
    const slow = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`p${i}`, { anyOf: [{ type: "string" }, { minimum: 3 }] }]))
    let compiled = false
    const compiling = sandbox.compile({ organization: "acme", schema: { properties: slow }, transform: null }).finally(() => {
      compiled = true
    })
    const behind = sandbox.compile({ organization: "acme", schema: { type: "object" }, transform: null })
    const result = await sandbox.run(callOf(program, {}))
    expect([result.ok, compiled]).to.deep.equal([true, false])
    const { program: created, problems } = await compiling
    expect(created).to.equal(null)
    expect(problems[0]?.message).to.include("took longer than 2 s")
    expect((await behind).problems).to.deep.equal([])
  })
})
