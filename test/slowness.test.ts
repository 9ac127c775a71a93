// Bounds in running time: counted and ignored kinds of time.
import { expect } from "chai"
import { runningMs } from "./slowness.ts"

describe("running time", () => {
  /** Uses this thread's processor for this many milliseconds. */
  function busy(ms: number): void {
    const before = process.threadCpuUsage()
    for (;;) {
      const { user, system } = process.threadCpuUsage(before)
      if ((user + system) / 1_000 >= ms) return
    }
  }

  it("counts what this thread blocked itself for, in one piece or in many", async () => {
    expect(await runningMs(() => busy(300))).to.be.at.least(290)
    const turns = await runningMs(async () => {
      for (let turn = 0; turn < 10; turn++) {
        busy(30)
        await new Promise(setImmediate)
      }
    })
    expect(turns).to.be.at.least(290)
  })

  it("leaves out the time in which the process did not run", async () => {
    const stood = await runningMs(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500))
    expect(stood).to.be.below(100)
  })
})
