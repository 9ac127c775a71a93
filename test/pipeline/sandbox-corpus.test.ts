// Hostile transforms and schemas, each beside a neighbour of another organization: contained within its deadline,
// reported with its cause, and the neighbour answered rightly within a second.
import { expect } from "chai"
import type { Program, Sandbox } from "../../core/pipeline/sandbox/sandbox.ts"
import { type Hostile, hostileTransforms } from "../sandbox-corpus/hostile-transforms.ts"
import { callOf, programOf, sandboxUnderTest } from "./sandbox-under-test.ts"

const neighbourMs = 1_000
// The hard deadline is of CPU time; four times it in wall time is the most, and a child's start comes on top.
const containedMs = 3_000

describe("hostile transforms", function () {
  this.timeout(30_000)
  let sandbox: Sandbox
  let neighbour: Program

  before(async () => {
    sandbox = sandboxUnderTest()
    await sandbox.start()
    neighbour = await programOf(sandbox, "function transform(event) { return { doubled: event.n * 2 } }", {
      type: "object",
      required: ["n"],
    })
  })
  after(() => sandbox.stop())

  async function askNeighbour(n: number): Promise<number> {
    const before = performance.now()
    const result = await sandbox.run(callOf(neighbour, { n }, { organization: "neighbour", pipelineId: "quiet" }))
    expect(result).to.deep.equal({ ok: true, event: `{"doubled":${n * 2}}`, payload: null, envelope: null, isTest: null })
    return performance.now() - before
  }

  async function outcomeOf(hostile: Hostile): Promise<{ kind: string; event?: unknown; ms: number }> {
    const { program } = await sandbox.compile({ schema: hostile.schema ?? null, transform: hostile.transform })
    if (!program) return { kind: "refused", ms: 0 }
    const before = performance.now()
    const [result, ...waits] = await Promise.all([
      sandbox.run(callOf(program, hostile.body ?? {}, { organization: "hostile", pipelineId: hostile.name })),
      askNeighbour(1),
      askNeighbour(2),
    ])
    const ms = performance.now() - before
    for (const wait of waits) expect(wait, "the neighbour's wait").to.be.below(neighbourMs)
    return result.ok ? { kind: "ok", event: JSON.parse(result.event), ms } : { kind: result.kind, ms }
  }

  it("are at least forty", () => {
    expect(hostileTransforms.length).to.be.greaterThan(40)
    expect(new Set(hostileTransforms.map((each) => each.name)).size).to.equal(hostileTransforms.length)
  })

  for (const hostile of hostileTransforms) {
    it(hostile.name, async () => {
      const outcome = await outcomeOf(hostile)
      expect(hostile.expect).to.include(outcome.kind)
      if (outcome.kind === "ok" && "event" in hostile) expect(outcome.event).to.deep.equal(hostile.event)
      expect(outcome.ms).to.be.below(containedMs)
      await askNeighbour(3)
    })
  }
})
