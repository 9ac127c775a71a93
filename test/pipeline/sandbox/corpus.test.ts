// Hostile transforms and schemas, each beside a neighbour of another organization: contained within the deadline and reported
// with their cause. The neighbour's answer is correct, and in the soak arrives within a second.
import { expect } from "chai"
import type { Program, Sandbox } from "../../../core/pipeline/sandbox/sandbox.ts"
import { RunningTime } from "../../slowness.ts"
import { expectWithin, isDue } from "../../tier.ts"
import { type Hostile, hostileTransforms } from "./hostile-transforms.ts"
import { callOf, programOf, sandboxUnderTest } from "./sandbox-under-test.ts"

const neighbourMs = 1_000
// The hard deadline counts CPU time; a child's start is additional.
const containedMs = 3_000

interface Outcome {
  readonly kind: string
  readonly event?: unknown
  readonly ms: number
  readonly neighboursMs: number
}

describe("hostile transforms", () => {
  let sandbox: Sandbox
  let neighbour: Program
  let time: RunningTime

  before(async () => {
    time = new RunningTime()
    sandbox = sandboxUnderTest()
    await sandbox.start()
    neighbour = await programOf(sandbox, "function transform(event) { return { doubled: event.n * 2 } }", {
      type: "object",
      required: ["n"],
    })
  })
  after(async () => {
    time.stop()
    await sandbox.stop()
  })

  async function askNeighbour(n: number): Promise<number> {
    const before = time.now()
    const result = await sandbox.run(callOf(neighbour, { n }, { organization: "neighbour", pipelineId: "quiet" }))
    expect(result).to.deep.equal({ ok: true, event: `{"doubled":${n * 2}}`, payload: null, envelope: null, isTest: null })
    return time.now() - before
  }

  async function outcomeOf(hostile: Hostile, pipelineId: string): Promise<Outcome> {
    const { program } = await sandbox.compile({ organization: "acme", schema: hostile.schema ?? null, transform: hostile.transform })
    if (!program) return { kind: "refused", ms: 0, neighboursMs: 0 }
    const before = time.now()
    const [result, ...waits] = await Promise.all([
      sandbox.run(callOf(program, hostile.body ?? {}, { organization: "hostile", pipelineId })),
      askNeighbour(1),
      askNeighbour(2),
    ])
    const ms = time.now() - before
    const neighboursMs = Math.max(...waits)
    return result.ok ? { kind: "ok", event: JSON.parse(result.event), ms, neighboursMs } : { kind: result.kind, ms, neighboursMs }
  }

  it("each have a name of their own", () => {
    expect(new Set(hostileTransforms.map((hostileTransform) => hostileTransform.name)).size).to.equal(hostileTransforms.length)
  })

  for (const hostile of hostileTransforms.filter((_, at) => isDue(at % 6 === 0))) {
    it(hostile.name, async () => {
      const outcome = await outcomeOf(hostile, hostile.name)
      expect(hostile.expect).to.include(outcome.kind)
      expectWithin(neighbourMs, outcome.neighboursMs, "the neighbour's wait")
      expectWithin(containedMs, outcome.ms, "the hostile event")
      if (outcome.kind === "ok" && "event" in hostile) expect(outcome.event).to.deep.equal(hostile.event)
      await askNeighbour(3)
    })
  }
})
