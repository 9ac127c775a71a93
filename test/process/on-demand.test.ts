// A peer that starts for its first request, and again after its end.
import { expect } from "chai"
import type { Clock } from "../../core/kernel/clock.ts"
import { ConfinedChild } from "../../core/process/confined-child.ts"
import { OnDemand } from "../../core/process/on-demand.ts"

const main = new URL("./child-main.ts", import.meta.url)

/** Only `move` advances the time. */
class StandingClock implements Clock {
  #time = 0
  readonly #timers = new Map<() => void, number>()
  now = () => this.#time
  monotonic = () => this.#time

  after(milliseconds: number, run: () => void): () => void {
    this.#timers.set(run, this.#time + milliseconds)
    return () => void this.#timers.delete(run)
  }

  move(milliseconds: number): void {
    this.#time += milliseconds
    for (const [run, due] of [...this.#timers]) if (due <= this.#time && this.#timers.delete(run)) run()
  }
}

describe("peer on demand", () => {
  let clock: StandingClock
  let starts: number
  let flags: string[]
  let children: OnDemand<ConfinedChild>
  beforeEach(() => {
    clock = new StandingClock()
    starts = 0
    flags = []
    children = new OnDemand(() => {
      starts++
      return new ConfinedChild({ name: "test process", main, flags })
    }, clock)
  })
  afterEach(() => children.stop(new Error("the end of the test")))

  const ask = (command: string) => children.use((child) => child.ask<{ value: unknown }>({ command, text: command }))
  const failure = (request: Promise<unknown>) =>
    request.then(
      () => "an answer",
      ({ message }: Error) => message,
    )

  it("starts for the first request, and serves later requests with the same peer", async () => {
    expect(children.current).to.equal(undefined)
    expect((await ask("echo")).value).to.equal("echo")
    await ask("echo")
    expect(starts).to.equal(1)
  })

  it("starts at once after an end during a request", async () => {
    for (let end = 1; end <= 3; end++) {
      await ask("echo")
      expect(await failure(ask("fail"))).to.equal("The test process ended: fail")
      expect(starts).to.equal(end)
    }
  })

  it("waits longer after each failed start, and starts at once after a complete start", async () => {
    flags = ["--not-a-flag"]
    expect(await failure(ask("echo"))).to.include("bad option")
    for (const pauseMs of [100, 200, 400]) {
      const before = starts
      const request = failure(ask("echo"))
      clock.move(pauseMs - 1)
      await Promise.resolve()
      expect(starts).to.equal(before)
      if (pauseMs === 400) flags = []
      clock.move(1)
      expect(await request).to.match(pauseMs === 400 ? /^an answer$/ : /bad option/)
      expect(starts).to.equal(before + 1)
    }
    await failure(ask("fail"))
    expect((await ask("echo")).value).to.equal("echo")
  })

  it("replaces a drained peer", async () => {
    await ask("echo")
    const last = children.use((child) => {
      const answer = child.ask<{ value: unknown }>({ command: "echo", text: "last" })
      child.drain()
      return answer
    })
    expect((await ask("echo")).value).to.equal("echo")
    expect((await last).value).to.equal("last")
    expect(starts).to.equal(2)
  })

  it("rejects pending and later requests with the reason of the stop", async () => {
    const pending = failure(ask("hang"))
    await children.stop(new Error("The service is stopping."))
    expect([await pending, await failure(ask("echo"))]).to.deep.equal(Array(2).fill("The service is stopping."))
  })
})
