// Fields of a transform's result, read from its source: exact, partial or unknown. The list never lacks a possible field.
import { expect } from "chai"
import { transformSource } from "../../../core/pipeline/sandbox/isolate/compiler/transform-source.ts"

function fieldsOf(source: string) {
  const match = transformSource(source, "transform")
  if ("problems" in match) throw new Error(JSON.stringify(match.problems))
  return match.fields
}

/** The body of `transform(event, context)`. */
const of = (body: string) => fieldsOf(`const limit = 3\nfunction transform(event, context) { ${body} }`)
const exact = (...names: string[]) => ({ names, withEvent: false, exact: true })

describe("the fields of a transform's result", () => {
  it("are those of the object literals that it returns, of each of them", () => {
    expect(of("return { email: event.email, 'odd name': 1, 7: 2 }")).to.deep.equal(exact("email", "odd name", "7"))
    expect(of("if (event.a) return null; return event.b ? { a: 1 } : { b: 2, c }")).to.deep.equal(exact("a", "b", "c"))
    expect(of("const inner = () => { return { no: 1 } }; return { yes: inner() }")).to.deep.equal(exact("yes"))
    expect(of("return { a: 1, ...(event.b && { b: event.b }), ...(event.c ? { c: 1 } : {}) }")).to.deep.equal(exact("a", "b", "c"))
    expect(fieldsOf("const transform = ({ email }) => ({ email, at: 1 })")).to.deep.equal(exact("email", "at"))
  })

  it("are those of a variable that begins as one, and what is assigned to it", () => {
    expect(of("const lead = { a: 1 }; if (event.b) lead.b = 2; lead.a += 1; return lead")).to.deep.equal(exact("b", "a"))
    expect(of("const lead = { a: 1 }; return { ...lead, c: lead.a }")).to.deep.equal(exact("a", "c"))
  })

  it("are the event's as well where it returns or spreads that", () => {
    const withEvent = (...names: string[]) => ({ names, withEvent: true, exact: true })
    expect(of("return { ...event, score: event.a + 1 }")).to.deep.equal(withEvent("score"))
    expect(of("event.email = event.email.trim(); return event")).to.deep.equal(withEvent("email"))
    expect(fieldsOf("const transform = (event) => event")).to.deep.equal(withEvent())
  })

  it("are not said to be all where something else may add to them", () => {
    for (const body of [
      "const lead = { a: 1 }; fill(lead); return lead",
      "const lead = { a: 1 }; lead[event.key] = 2; return lead",
      "const lead = { a: 1 }; const alias = lead; alias.b = 2; return lead",
      "const lead = { a: 1 }; [lead].forEach((one) => { one.b = 1 }); return lead",
    ]) {
      expect(of(`function fill(one) { one.b = 1 } ${body}`), body).to.deep.equal({ names: ["a"], withEvent: false, exact: false })
    }
    expect(of("helper(event); return { ...event }\nfunction helper(one) { one.b = 1 }")).to.deep.equal({
      names: [],
      withEvent: true,
      exact: false,
    })
  })

  it("are not told where it returns anything else", () => {
    for (const body of [
      "return build(event)\nfunction build(one) { return { a: one } }",
      "return { [event.key]: 1 }",
      "return { a: 1, ...event.nested }",
      "return { a: 1, ...context.query }",
      "return [event]",
      "let lead = { a: 1 }; lead = event.other; return lead",
      "let lead; lead = { a: 1 }; return lead",
      "return { toJSON() { return { b: 1 } } }",
      "if (event.a) return { a: 1 }; return event.items[0]",
      "event = { a: 1 }; return event",
      "const event2 = event; return { ...event2 }",
      "return null",
      "const x = 1",
      "{ const lead = { a: 1 } } { const lead = { b: 1 }; return lead }",
    ]) {
      expect(of(body), body).to.equal(null)
    }
    const many = Array.from({ length: 201 }, (_none, n) => `f${n}: 1`)
    expect(of(`return { ${many.join()} }`)).to.equal(null)
  })
})
