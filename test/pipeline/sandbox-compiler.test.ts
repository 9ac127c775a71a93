// The process that compiles, when it has had nothing to do for a while.
import { expect } from "chai"
import { MovableClock } from "../../core/kernel/movable-clock.ts"
import { Compiler } from "../../core/pipeline/sandbox/compiler.ts"

describe("the compiler's process", () => {
  it("is another one for what comes while an idle one is being ended", async () => {
    const clock = new MovableClock()
    const compiler = new Compiler(clock)
    try {
      for (const type of ["object", "string", "array"]) {
        expect((await compiler.compile({ type }, null)).problems, type).to.deep.equal([])
        clock.move(30_000)
      }
    } finally {
      compiler.stop()
    }
  })
})
