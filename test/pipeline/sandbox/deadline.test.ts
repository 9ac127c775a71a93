// The deadline of an event counts the processor time of its threads.
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { expect } from "chai"
import { cpuMs } from "../../../core/pipeline/sandbox/child/hand.ts"
import { sandboxOfSuite } from "./sandbox-under-test.ts"

/** Works until its thread has used this many milliseconds of processor time. */
function work(milliseconds: number): void {
  const { user, system } = process.threadCpuUsage()
  for (let used = 0; used < milliseconds * 1_000; ) {
    const now = process.threadCpuUsage()
    used = now.user + now.system - user - system
  }
}

describe("the processor time of what a sandbox child has in hand", () => {
  it("is not what its own thread uses, which reads what others are sent", () => {
    const before = cpuMs()
    work(200)
    expect(cpuMs() - before).to.be.below(100)
  })

  it("is what other threads use", async () => {
    const before = cpuMs()
    const worker = new Worker(`${work}; work(200)`, { eval: true })
    await once(worker, "exit")
    expect(cpuMs() - before).to.be.at.least(190)
  })
})

describe("the time limit of an event of 700,000 characters", () => {
  const { run } = sandboxOfSuite({ settings: { timeout_ms: 2 } })
  const messages = Array.from({ length: 8_000 }, (_, n) => ({ id: `m${n}`, from: `4930${n}`, type: "text", text: { body: `Order ${n}` } }))
  const body = { messages, padding: "x".repeat(160_000) }

  it("leaves the reading of the event out", async () => {
    const schema = { type: "object", required: ["messages"], properties: { messages: { type: "array" } } }
    const results = [
      await run(null, body),
      await run("function transform(event) { return { count: event.messages.length } }", body),
      await run(null, body, {}, schema),
    ]
    expect(results.map((result) => (result.ok ? "ok" : result.message))).to.deep.equal(["ok", "ok", "ok"])
  })

  it("stops an endless transform", async () => {
    expect(await run("function transform() { for (;;); }", body)).to.include({ kind: "timeout" })
  })
})
