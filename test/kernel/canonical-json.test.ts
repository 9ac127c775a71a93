import { expect } from "chai"
import { canonicalJson } from "../../core/kernel/json.ts"

describe("canonical JSON", () => {
  it("is the same for the same value in any order of its keys", () => {
    expect(canonicalJson({ b: [{ d: 1, c: "ü" }], a: null })).to.equal('{"a":null,"b":[{"c":"ü","d":1}]}')
  })

  it("leaves out what JSON leaves out", () => {
    expect(canonicalJson({ a: undefined, b: () => 1, c: [undefined] })).to.equal('{"c":[null]}')
    expect(canonicalJson(undefined)).to.equal("null")
  })

  it("asks toJSON, also within", () => {
    expect(canonicalJson({ at: new Date(0) })).to.equal('{"at":"1970-01-01T00:00:00.000Z"}')
  })

  it("keeps the order of lists", () => {
    expect(canonicalJson([2, 1])).not.to.equal(canonicalJson([1, 2]))
  })
})
