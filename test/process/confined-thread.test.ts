// A thread of the service: its requests, its limits and its end.
import { expect } from "chai"
import { MovableClock } from "../../core/kernel/movable-clock.ts"
import { ConfinedThread } from "../../core/process/confined-thread.ts"
import type { Exit, PeerLost } from "../../core/process/peer.ts"
import { until } from "../waiting.ts"

describe("confined thread", () => {
  let thread: ConfinedThread
  beforeEach(() => {
    const main = new URL("./thread-main.ts", import.meta.url)
    thread = new ConfinedThread({ main, name: "test", limits: { maxOldGenerationSizeMb: 32 } })
  })
  afterEach(() => thread.stop())

  function exitOf(command: string): Promise<Exit> {
    return thread.ask({ command }).then(
      () => expect.fail("The request has an answer."),
      ({ exit }: PeerLost) => exit,
    )
  }

  it("answers without a variable of the service", async () => {
    expect((await thread.ask<{ environment: string[] }>({ command: "echo" })).environment).to.deep.equal([])
  })

  it("rejects all pending requests with its error", async () => {
    const exits = await Promise.all(["hang", "fail"].map(exitOf))
    for (const { stderr, killed } of exits) expect([stderr, killed]).to.deep.equal(["a fault", undefined])
    expect(thread.isAlive).to.equal(false)
  })

  it("ends if it exceeds its memory", async () => {
    expect((await exitOf("grow")).cause).to.include({ code: "ERR_WORKER_OUT_OF_MEMORY" })
  })

  it("is killed at its deadline", async () => {
    const clock = new MovableClock()
    thread.deadline(1_000, "deadline", clock)
    const exit = exitOf("hang")
    clock.move(1_000)
    expect((await exit).killed).to.equal("deadline")
  })

  it("is killed if it uses its processor time", async () => {
    const clock = new MovableClock()
    await thread.ask({ command: "echo" })
    const exit = exitOf("spin")
    thread.cpuDeadline(20, clock)
    await until("the end of the thread", () => {
      clock.move(250)
      return !thread.isAlive
    })
    expect((await exit).killed).to.equal("deadline")
  })

  it("outlives a deadline in processor time without work", async () => {
    const clock = new MovableClock()
    const cancelDeadline = thread.cpuDeadline(10_000, clock)
    clock.move(1_000)
    expect(await thread.ask({ command: "echo" })).to.have.property("environment")
    cancelDeadline()
    clock.move(60_000)
    expect(thread.isAlive).to.equal(true)
  })
})
