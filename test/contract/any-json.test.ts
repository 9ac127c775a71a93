// Fields of any JSON: accepted and refused values. Each nested value is checked once.
import { expect } from "chai"
import { z } from "zod"
import { AnyJson } from "#core"
import { parseInput } from "../../core/surface/call/parse-input.ts"
import { wireSchema } from "../../core/surface/wire-schema.ts"
import { refusalOf } from "../refusal.ts"

describe("any JSON", () => {
  it("is every value that JSON has", () => {
    for (const value of [null, true, "", 0, -1.5, [], {}, [[{ a: [null, { b: "" }] }]], Object.create(null)]) {
      expect(AnyJson.parse(value)).to.equal(value)
    }
  })

  it("is nothing else, at any depth, and a refusal says what it is not", async () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1n, () => 1, Symbol("a"), new Date(), new Map(), undefined]) {
      expect(AnyJson.safeParse([{ a: value }]).success, String(value)).to.equal(false)
    }
    const input = z.strictObject({ given: AnyJson, left: AnyJson.optional() })
    const refused = (value: unknown) => refusalOf(() => parseInput(input, value))
    expect((await refused({ given: Number.NaN })).message).to.equal('"given": Expected a JSON value, found a number.')
    expect((await refused({})).message).to.equal('"given": Required: a JSON value.')
    expect(await parseInput(input, { given: null })).to.deep.equal({ given: null })
  })

  it("looks at each value once", () => {
    let looks = 0
    const watched = {
      get a() {
        looks++
        return 1
      },
    }
    expect(AnyJson.safeParse({ list: [watched] }).success).to.equal(true)
    expect(looks).to.equal(1)
  })

  it("is the empty schema on the wire, and required", () => {
    expect(wireSchema(z.strictObject({ given: AnyJson }), "input")).to.deep.include({ properties: { given: {} }, required: ["given"] })
  })
})
