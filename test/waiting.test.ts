// Waits of tests: they find late results on a busy machine, and end for results that never come.
import { expect } from "chai"
import { failureOf } from "./refusal.ts"
import { until } from "./waiting.ts"

describe("waits of tests", () => {
  it("count little of a time in which the process stood still", async () => {
    const still = new Int32Array(new SharedArrayBuffer(4))
    let looks = 0
    const look = () => {
      if (looks++ < 3) Atomics.wait(still, 0, 0, 300)
      return looks > 3
    }
    await until("the fourth look", look, { withinMs: 200 })
    expect(looks).to.equal(4)
  })

  it("end with the words for what they waited for", async () => {
    const { message } = await failureOf(until("the row", () => undefined, { withinMs: 50 }))
    expect(message).to.match(/^Waited 0 s in vain for: the row\. The wait took \d+ s\.$/)
  })
})
