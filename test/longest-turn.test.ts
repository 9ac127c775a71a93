// The measure of turns: it counts the work of a turn, and no time without the processor.
import { setImmediate as nextTurn } from "node:timers/promises"
import { expect } from "chai"
import { expectShortTurn, longestTurn, maxTurnMs, repeatedLongestTurn } from "./longest-turn.ts"

/** Uses the processor for this many milliseconds. */
function work(milliseconds: number): void {
  const before = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(before)
    if (user + system > milliseconds * 1_000) return
  }
}

function waitWithoutProcessor(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

describe("longest turn", () => {
  const faulty = {
    "a turn between others": async () => {
      await nextTurn()
      work(60)
      await nextTurn()
    },
    "the first turn": async () => {
      work(60)
      await nextTurn()
    },
    "the last turn": async () => {
      await nextTurn()
      work(60)
    },
    "a chain of promises": async () => {
      await nextTurn()
      for (let part = 0; part < 6; part++) {
        work(10)
        await Promise.resolve()
      }
    },
  } as const
  for (const [place, run] of Object.entries(faulty)) {
    it(`includes a busy loop of 60 ms in ${place}`, async () => {
      const { milliseconds } = await longestTurn(run)
      expect(milliseconds).to.be.above(maxTurnMs)
      expect(() => expectShortTurn(milliseconds, place)).to.throw(place)
    })
  }

  it("includes a busy loop that each repetition has", async () => {
    let runs = 0
    const { milliseconds } = await repeatedLongestTurn(async () => {
      runs++
      await nextTurn()
      work(60)
    })
    expect(runs).to.equal(3)
    expect(() => expectShortTurn(milliseconds)).to.throw("50")
  })

  it("excludes a busy loop that one run alone has", async () => {
    let runs = 0
    const { milliseconds, value } = await repeatedLongestTurn(async () => {
      await nextTurn()
      if (++runs === 1) work(60)
      return runs
    })
    expect(value).to.equal(2)
    expectShortTurn(milliseconds)
  })

  it("excludes time without the processor", async () => {
    const { milliseconds } = await repeatedLongestTurn(async () => {
      await nextTurn()
      waitWithoutProcessor(200)
      await nextTurn()
    })
    expectShortTurn(milliseconds)
  })

  it("counts work of several turns as several turns", async () => {
    const { milliseconds } = await repeatedLongestTurn(async () => {
      for (let turn = 0; turn < 10; turn++) {
        work(8)
        await nextTurn()
      }
    })
    expectShortTurn(milliseconds)
  })
})
