// One organization's flood beside another's events and programs: fair turns, counted in answers instead of time.
import { expect } from "chai"
import { systemClock } from "../../../core/kernel/clock.ts"
import type { Sandbox } from "../../../core/pipeline/sandbox/sandbox.ts"
import { callOf, programOf, sandboxUnderTest } from "./sandbox-under-test.ts"

describe("sandbox fairness", () => {
  let sandbox: Sandbox
  before(async () => {
    // With a stopped clock, so no event times out on a busy machine: the subject is the order.
    sandbox = sandboxUnderTest({ clock: { ...systemClock, monotonic: () => 0 } })
    await sandbox.start()
  })
  after(() => sandbox.stop())

  it("answers an organization between two groups of another's, however many pipelines that has", async () => {
    const slow = await programOf(sandbox, "function transform(event) { let n = 0; while (n < 1e7) n++; return { n } }")
    const quick = await programOf(sandbox, "function transform(event) { return event }")
    const [pipelines, events] = [14, 3]
    let answered = 0
    const flood = Array.from({ length: pipelines * events }, (_, i) =>
      sandbox.run(callOf(slow, { i }, { organization: "hostile", pipelineId: `pipeline-${Math.floor(i / events)}` })).then((result) => {
        answered++
        return result
      }),
    )
    const before: number[] = []
    while (before.length < 6) {
      const from = answered
      expect(await sandbox.run(callOf(quick, { n: 1 }, { organization: "quiet" }))).to.include({ ok: true })
      before.push(answered - from)
    }
    expect(answered).to.be.below(pipelines * events)
    // From the first turn on, before these are known to be slow.
    for (const count of before) expect(count).to.be.at.most(2 * events)
    expect(sandbox.shares().sandbox.map(({ organization }) => organization)).to.deep.equal(["hostile"])
    for (const result of await Promise.all(flood)) expect(result).to.include({ ok: true })
  })

  it("compiles an organization's program between two of another's", async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `p${i}`,
        {
          anyOf: [
            { type: "string", pattern: `^${i}` },
            { type: "integer", minimum: i },
          ],
        },
      ]),
    )
    let answered = 0
    const flood = Array.from({ length: 4 }, (_, i) =>
      sandbox.compile({ organization: "hostile", schema: { title: `slow ${i}`, properties }, transform: null }).then(() => answered++),
    )
    const { problems } = await sandbox.compile({ organization: "quiet", schema: { type: "object" }, transform: null })
    expect(problems).to.deep.equal([])
    expect(answered).to.be.at.most(2)
    await Promise.all(flood)
  })

  // Last: the stop answers the waiting events.
  it("refuses the flood and nobody else at the bound", async () => {
    const program = await programOf(sandbox, "function transform(event) { return event }")
    const refused: unknown[] = []
    for (let i = 0; i < 12_000; i++) {
      const message = sandbox.run(callOf(program, { i }, { organization: "hostile", pipelineId: `pipeline-${i % 50}` }))
      void message.then((result) => result.ok || refused.push(result))
    }
    const quiet = Array.from({ length: 20 }, (_, i) => sandbox.run(callOf(program, { i }, { organization: "quiet" })))
    for (const result of await Promise.all(quiet)) expect(result).to.include({ ok: true })
    expect(refused.length).to.be.within(1_000, 2_000)
    for (const result of refused)
      expect(result).to.include({ kind: "unavailable", message: "Too many events of this organization are waiting for the sandbox." })
  })
})
