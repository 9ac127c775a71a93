// Lines of waiting items by organization, pipeline and destination.
import { expect } from "chai"
import fc from "fast-check"
import { FairLines } from "../../core/kernel/fair-lines.ts"

const everything = () => true

describe("fair lines", () => {
  it("gives turns by organization, then pipeline, then destination", () => {
    const lines = new FairLines<string>()
    for (const path of ["a/p/x", "a/p/x", "a/p/y", "a/p/z", "a/q/x", "b/p/x"]) lines.add(path.split("/"), path)
    const order: string[] = []
    for (let turn = lines.next(everything); turn; turn = lines.next(everything)) order.push(turn.item)
    expect(order).to.deep.equal(["a/p/x", "b/p/x", "a/q/x", "a/p/y", "a/p/z", "a/p/x"])
  })

  it("passes over a destination that may not start, and keeps its turn", () => {
    const lines = new FairLines<string>()
    for (const path of ["a/p/silent", "a/p/quick", "a/p/quick"]) lines.add(path.split("/"), path)
    const quick = (path: readonly string[]) => path[2] !== "silent"
    expect([lines.next(quick)?.item, lines.next(quick)?.item, lines.next(quick)?.item]).to.deep.equal(["a/p/quick", "a/p/quick", undefined])
    expect(lines.next(everything)?.item).to.equal("a/p/silent")
  })

  it("counts what waits below a path, over any additions, turns and removals", () => {
    const path = fc.tuple(...["org", "pipeline", "host"].map((name) => fc.constantFrom(`${name} 1`, `${name} 2`)))
    const step = fc.record({ path, does: fc.constantFrom("add", "add", "next", "remove") })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const lines = new FairLines<number>()
        let waiting: { path: readonly string[]; item: number }[] = []
        for (const [item, { path: at, does }] of steps.entries()) {
          if (does === "add") {
            lines.add(at, item)
            waiting.push({ path: at, item })
          } else if (does === "next") {
            const turn = lines.next(everything)
            expect(turn === undefined).to.equal(waiting.length === 0)
            waiting = waiting.filter((entry) => entry.item !== turn?.item)
          } else {
            const oldest = waiting.find((entry) => entry.path.join() === at.join())
            expect(lines.remove(at, oldest?.item ?? -1)).to.equal(oldest !== undefined)
            waiting = waiting.filter((entry) => entry !== oldest)
          }
          expect(lines.waiting()).to.equal(waiting.length)
          expect(lines.waiting(at)).to.equal(waiting.filter((entry) => entry.path.join() === at.join()).length)
          expect(lines.waiting(at.slice(0, 1))).to.equal(waiting.filter((entry) => entry.path[0] === at[0]).length)
        }
      }),
      { seed: 1127 },
    )
  })
})
