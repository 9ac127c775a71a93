// A copy of many events: they are read and sealed while the service serves others.
import { expect } from "chai"
import { expectShortTurn, printLongestTurns, repeatedLongestTurn } from "../../longest-turn.ts"
import { AnalyticsHost, event } from "./host.ts"

const [total, batch] = [60_000, 5_000]

describe("a copy of 60,000 events", () => {
  let analytics: AnalyticsHost
  before(async () => {
    // One pass finds as many events as possible.
    analytics = await AnalyticsHost.start({ seal_every_ms: 5_000 })
  })
  after(() => analytics.stop())

  it("is sealed in short turns", async () => {
    let copies = 0
    const { milliseconds } = await repeatedLongestTurn(async () => {
      for (let writeCount = 0; writeCount < total; writeCount += batch)
        await analytics.write(Array.from({ length: batch }, () => event("pageview", { note: "y".repeat(50) })))
      await analytics.caughtUp()
      copies++
    })
    expect(await analytics.rows("SELECT count(*) FROM events")).to.deep.equal([[total * copies]])
    printLongestTurns([{ what: "copy", milliseconds }])
    expectShortTurn(milliseconds, `a copy of ${total} events`)
  })
})
