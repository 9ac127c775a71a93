// Search tokens of a text.
import { expect } from "chai"
import fc from "fast-check"
import { mergedPostings, Postings, partOf, parts, postingIn, readPart } from "#core/search"
import { plainText } from "../../../plugins/capture/executions/finding/entry-text.ts"
import { soughtIn, tokens } from "../../../plugins/capture/executions/finding/tokens.ts"
import { seed } from "../../tier.ts"

function found(text: string): Set<number> {
  const all = new Set<number>()
  tokens(plainText(text), (token) => void all.add(token))
  return all
}

function holds(text: string, piece: string, isPart = false): boolean {
  const { all, compounds } = soughtIn(plainText(piece))
  const there = found(text)
  return all.length > 0 && all.every((token) => there.has(token)) && (isPart || compounds.every((token) => there.has(token)))
}

describe("tokens of events", () => {
  const text = `{"mail":"Ada@Example.com","order":"A-7","id":"0198a0b0-7c1d-7000-8000-0123456789ab","t":"caf\\u00e9 \\"M\u00fcller\\"","n":12}`
  for (const piece of ["ada@example.com", "A-7", "a-7", "0198A0B0-7c1d-7000-8000-0123456789ab", "café", "MÜLLER", "12", '"order":"A-7"'])
    it(`find ${piece}`, () => expect(holds(text, piece)).to.equal(true))
  for (const piece of ["ada@example.org", "A-8", "0198a0b0", "caf", "!?", ""])
    it(`do not find ${piece || "nothing"}`, () => expect(holds(text, piece)).to.equal(false))

  it("are those of parts of what stands between spaces as well", () => {
    expect(holds(text, "example.com", true)).to.equal(true)
    expect(holds(text, "example.com")).to.equal(false)
  })

  it("leave no mark of direction, and end", () => {
    expect(holds("a\u202Ebad\u202C word", "bad")).to.equal(true)
    expect(found("x ".repeat(100_000)).size).to.equal(0)
    expect(found("ab ".repeat(1_000_000)).size).to.equal(1)
  })

  it("are read from parts as they were filed, merged or not", () => {
    const tokensOf = fc.oneof(fc.nat(2 ** 32 - 1), fc.nat(50))
    const postingsOf = fc.array(fc.tuple(tokensOf, fc.nat(999)), { minLength: 1, maxLength: 400 })
    const check = (inputs: [number, number][], bits: number) => {
      const made = (pairs: readonly [number, number][]) => {
        const postings = new Postings()
        for (const [token, ordinal] of pairs) postings.add(token, ordinal)
        return [...postings.sorted()]
      }
      const whole = made(inputs)
      const read = [...parts(whole, bits)].flatMap(({ part, base64 }) => {
        const some = [...readPart(base64)]
        expect(some.every(({ token }) => partOf(token, bits) === part)).to.equal(true)
        expect(some.map(({ token }) => postingIn(base64, token))).to.deep.equal(some)
        const others = some.map(({ token }) => token + 1).filter((token) => some.every((posting) => posting.token !== token))
        expect(others.map((token) => postingIn(base64, token))).to.deep.equal(others.map(() => undefined))
        return some
      })
      expect(read).to.deep.equal(whole)
      const half = Math.floor(inputs.length / 2)
      const merged = mergedPostings([
        { postings: made(inputs.slice(0, half)), offset: 0 },
        { postings: made(inputs.slice(half)), offset: 1_000 },
      ])
      const moved = inputs.map(([token, ordinal], at): [number, number] => [token, at < half ? ordinal : ordinal + 1_000])
      expect(merged).to.deep.equal(made(moved))
    }
    fc.assert(fc.property(postingsOf, fc.nat(8), check), { seed, numRuns: 50 })
  })
})
