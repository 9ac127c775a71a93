// The hostile queries that tell, change, write or call, a third of them in the first tier. The slow tier also has those that
// grow or hang, a process each, and the proof that each of them does harm where nothing guards the engine.
import { expect } from "chai"
import { sampleOf } from "../../tier.ts"
import { hostileQueries } from "./corpus/hostile-queries.ts"
import { hostileQuerySuite } from "./corpus/suite.ts"

describe("the corpus of hostile queries", () => {
  it("holds each once", () => {
    expect(new Set(hostileQueries.map(({ sql }) => sql)).size).to.equal(hostileQueries.length)
  })
})

hostileQuerySuite("hostile analytics queries", sampleOf(hostileQueries.filter(({ harm }) => !("grows" in harm || "hangs" in harm))), {
  proves: false,
})
