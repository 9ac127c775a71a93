// "Did you mean": finds typing errors, but not other words.
import { expect } from "chai"
import fc from "fast-check"
import { didYouMean, nearest } from "../../core/kernel/guess.ts"

const existing = ["port", "host", "public_url", "trust_proxy", "dataset.write"]

describe("did you mean", () => {
  it("finds the word behind a wrong, missing, doubled or swapped letter", () => {
    for (const word of ["pott", "prt", "poort", "prot", "oprt", "potr"]) expect(nearest(word, existing), word).to.equal("port")
    expect(nearest("dataset.wriet", existing)).to.equal("dataset.write")
    expect(nearest("public_ulr", existing)).to.equal("public_url")
  })

  it("guesses nothing where nothing is near, or nothing is known", () => {
    for (const word of ["email", "x", ""]) expect(nearest(word, existing), word).to.equal(undefined)
    expect(nearest("port", [])).to.equal(undefined)
    expect(didYouMean("email", existing)).to.equal("")
    expect(didYouMean("hots", existing)).to.equal(' Did you mean "host"?')
  })

  it("takes the nearest of several, and a word for itself", () => {
    expect(nearest("cost", ["most", "cast", "cost"])).to.equal("cost")
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (words) => {
        expect(nearest(words[0] ?? "", words)).to.equal(words[0])
      }),
    )
  })
})
