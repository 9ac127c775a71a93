// A ninth of the hostile queries that disclose, change, write or call. The slow tier has all of them, and growing or hanging
// queries in their own processes, with the proof of harm on an unguarded engine.
import { expect } from "chai"
import { thirdOf } from "../../tier.ts"
import { hostileQueries } from "./corpus/hostile-queries.ts"
import { hostileQuerySuite, takesProcess } from "./corpus/suite.ts"

describe("the corpus of hostile queries", () => {
  it("holds each once", () => {
    expect(new Set(hostileQueries.map(({ sql }) => sql)).size).to.equal(hostileQueries.length)
  })
})

hostileQuerySuite("hostile analytics queries", thirdOf(thirdOf(hostileQueries.filter((query) => !takesProcess(query)))))
