// State of a sent message after any sequence of reports.
import { expect } from "chai"
import fc from "fast-check"
import { deliveryStates, joined } from "../../../plugins/people/conversations/receipts.ts"
import { seed } from "../../tier.ts"

const error = fc.option(fc.record({ code: fc.constantFrom("1", "131026", "30003"), message: fc.constantFrom("", "Undeliverable") }), {
  nil: null,
})
const report = fc.record({ state: fc.constantFrom("accepted", "sent", "failed", "delivered", "read"), error })
/** The service's own state of the message when reports arrive. */
const own = fc.constantFrom("queued", "sending", "unknown", "refused", "accepted", "failed")

describe("the state of a sent message", () => {
  const inputs = fc.record({ state: own, error })
  const reports = fc.array(report, { maxLength: 8 })

  it("is the same in any order of its reports, however often each comes, and whenever they are looked at", () => {
    const many = reports.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }), fc.subarray(all)))
    const property = fc.property(inputs, many, fc.nat(), (first, [all, drawn, again], cut) => {
      const expected = joined(first, all)
      expect(joined(first, [...drawn, ...again])).to.deep.equal(expected)
      // An intermediate join, like a job that runs before the last report arrives.
      const between = joined(first, drawn.slice(0, cut % (drawn.length + 1)))
      expect(joined(between, [...again, ...drawn])).to.deep.equal(expected)
      expect(joined(expected, all)).to.deep.equal(expected)
    })
    fc.assert(property, { numRuns: 500, seed })
  })

  it("never falls, and is one that was reported or known", () => {
    const rank = (state: (typeof deliveryStates)[number]) => deliveryStates.indexOf(state)
    const property = fc.property(inputs, reports, report, (first, before, last) => {
      const [earlier, later] = [joined(first, before), joined(first, [...before, last])]
      expect(rank(later.state)).to.be.at.least(rank(earlier.state))
      expect(rank(later.state)).to.be.at.least(rank(last.state))
      expect([first, ...before, last].map(({ state, error: why }) => JSON.stringify([state, why]))).to.include(
        JSON.stringify([later.state, later.error]),
      )
    })
    fc.assert(property, { numRuns: 500, seed })
  })
})
