// The hostile queries that tell, change, write or call, a ninth of them. The slow tier has all, with those that
// grow or hang, a process each, and the proof that they do harm where nothing guards the engine.
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
