// Acknowledged events survive. The process is killed at random instants, and the disk is checked before each answer. A few kills
// here, more in the soak, hundreds by `npm run test:crash -- --kills 500`. Also detects intentional faults.
import { expect } from "chai"
import { isSoak, kills, seed } from "../tier.ts"
import { traceAnswers } from "./durability.ts"
import { killRound, minUnanswered } from "./rounds.ts"
import { straceMissing } from "./trace.ts"

// A kill may come while no commit waits, so more kills find more faults.

describe("a service killed under load", () => {
  it(`keeps the books right over ${kills} kills`, async function () {
    this.timeout(600_000 + kills * 180_000)
    const { kills: reports, problems } = await killRound({ kills })
    expect(problems, `seed ${seed}`).to.deep.equal([])
    expect(reports).to.have.length(kills)
    for (const { unanswered, acknowledged } of reports) {
      expect(unanswered).to.be.at.least(minUnanswered)
      expect(acknowledged).to.be.greaterThan(0)
    }
    // At-least-once: only calls in progress on a dead node repeat.
    expect(reports.at(-1)?.findings.repeatedCalls).to.be.at.most(kills * 2 * 16)
  })

  it("is found out when it answers before the commit", async function () {
    this.timeout(900_000)
    // A kill may come while no commit waits.
    const { problems } = await killRound({ kills: 8, faults: ["reply-early"], untilProblem: true })
    expect(problems.join("\n")).to.include("acknowledged events without their entry")
  })
})

describe("an answer of 2xx", () => {
  before(function () {
    const missing = straceMissing()
    if (missing === undefined) return
    console.warn(`\n  SKIPPED: that the log is flushed before each answer was not looked at, because ${missing}.`)
    this.skip()
  })

  it("follows the flush of the log that holds its entry, every time", async () => {
    const { answered, acknowledged, flushes, early } = await traceAnswers([])
    expect(early).to.deep.equal([])
    expect(answered).to.equal(acknowledged)
    expect(answered).to.be.at.least(100)
    expect(flushes).to.be.greaterThan(0)
  })

  it("is found out when the log is not flushed (synchronous=OFF), and when it comes before the commit", async () => {
    for (const fault of isSoak ? ["synchronous-off", "reply-early"] : ["synchronous-off"]) {
      const { answered, early } = await traceAnswers([fault])
      expect(answered, fault).to.be.at.least(100)
      expect(early.length, fault).to.be.greaterThan(answered / 2)
    }
  })
})
