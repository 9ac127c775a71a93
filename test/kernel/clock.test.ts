// Timeouts by a clock: after a pause of the machine, available results win over an expired timeout.
import { expect } from "chai"
import { giveUpAfter, systemClock } from "../../core/kernel/clock.ts"
import { until } from "../waiting.ts"

describe("giving up after a while", () => {
  const stopped = new Int32Array(new SharedArrayBuffer(4))

  it("comes behind what arrived in that time, and not at all where that ends the wait", async () => {
    const received: string[] = []
    // Like socket input: handled after expired timers.
    const answer = () =>
      setImmediate(() => {
        received.push("answered")
        answered.cancel()
      })
    const answered = { cancel: giveUpAfter(systemClock, 1, () => received.push("given up, with an answer")) }
    answer()
    giveUpAfter(systemClock, 1, () => received.push("given up"))
    Atomics.wait(stopped, 0, 0, 20)
    await until("the one without an answer", () => received.includes("given up"))
    expect(received).to.deep.equal(["answered", "given up"])
  })
})
