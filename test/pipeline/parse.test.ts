// Text of pipeline files: values with places, and every error as a finding with line and column.
import { expect } from "chai"
import fc from "fast-check"
import { parseText } from "../../core/pipeline/parse.ts"

describe("parse", () => {
  it("reads YAML and JSON alike and knows where each part stands", () => {
    const yaml = parseText("name: x\npipeline:\n  - id: a\n    to: [b, c]\n")
    expect(yaml.findings).to.deep.equal([])
    expect(yaml.value).to.deep.equal({ name: "x", pipeline: [{ id: "a", to: ["b", "c"] }] })
    expect(yaml.locate("/pipeline/0/to")).to.deep.equal({ line: 4, column: 5 })
    expect(yaml.locate("/pipeline/0/to/1")).to.deep.equal({ line: 4, column: 13 })
    expect(yaml.locate("/pipeline/0")).to.deep.equal({ line: 3, column: 5 })
    expect(yaml.locate("/pipeline/0/missing/deep")).to.deep.equal({ line: 3, column: 5 })
    const json = parseText('{\n  "name": "x",\n  "a/b": { "~": 1 }\n}')
    expect(json.value).to.deep.equal({ name: "x", "a/b": { "~": 1 } })
    expect(json.locate("/a~1b/~0")).to.deep.equal({ line: 3, column: 12 })
  })

  it("places a line inside a block of code on its line in the file", () => {
    const parsed = parseText('name: x\ntransform_js: |\n  function transform(event) {\n    return {\n  }\nother: "a\\nb"\n')
    expect(parsed.locate("/transform_js", { line: 2, column: 5 })).to.deep.equal({ line: 4, column: 7 })
    expect(parsed.locate("/other", { line: 2, column: 1 })?.line).to.equal(6)
  })

  it("reports what is wrong with the text, with line and column", () => {
    const bad: [string, number, RegExp][] = [
      ["a: [1, 2\nb: 3", 2, /./],
      ['{"a": 1,\n "a": 2}', 2, /duplicate/],
      ["a: 1\na: 2", 2, /duplicate/],
      ["a: 1\n---\nb: 2\n", 2, /one document/],
      ["a: 1\nb: !!js/function x", 2, /tag/i],
      ["a: 1\nb: .nan", 2, /JSON number/],
      ["a: 1\n__proto__: { b: 1 }", 2, /__proto__/],
      ["a: 1\n? [b]\n: 2", 2, /plain text/],
      ["a: 1\nb: *none", 2, /none/],
      ["a: 1\n\tb: 2", 2, /./],
    ]
    for (const [text, line, message] of bad) {
      const { value, findings } = parseText(text)
      expect(value, text).to.equal(undefined)
      expect(findings[0]?.message, text).to.match(message)
      expect(findings[0], text).to.include({ rule: "invalid-syntax", level: "error", line })
      expect(findings[0]?.column, text).to.be.at.least(1)
    }
  })

  it("withstands aliases that multiply, and nesting without end", () => {
    const levels = Array.from({ length: 12 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(10).fill(`*l${i}`).join(", ")}]`)
    const bomb = parseText(`l0: &l0 x\n${levels.join("\n")}\n`)
    expect(bomb.value).to.equal(undefined)
    expect(bomb.findings.map(({ message }) => message)).to.deep.equal([
      "An anchor is repeated more than 100 times by its aliases and by theirs; use fewer aliases.",
    ])
    const circular = parseText("a: &a [*a, *a]\nb: &b { c: [*b, *a] }")
    expect(circular.value).to.equal(undefined)
    const within = (anchor: string) => `The alias "${anchor}" stands within its own anchor; a value cannot hold itself.`
    expect(circular.findings.map(({ message, line }) => [line, message])).to.deep.equal([
      [1, within("a")],
      [1, within("a")],
      [2, within("b")],
    ])
    const copies = parseText(`a: &a ${"x".repeat(100_000)}\nb: [${Array(50).fill("*a").join(", ")}]`)
    expect(copies.findings[0]?.message).to.match(/With its aliases/)
    // Each alias is resolved once. A bound applies before the library resolves any.
    const many = parseText(`a: &a 1\nb: [${Array(10_000).fill("*a").join(", ")}]`)
    expect(many.findings.map(({ message }) => message)).to.deep.equal(["A text has at most 1000 aliases."])
    const distinct = Array.from({ length: 900 }, (_, n) => `a${n}: &a${n} ${n}\nb${n}: *a${n}`)
    expect(parseText(distinct.join("\n")).value).to.include({ b0: 0, b899: 899 })
    const deep = parseText("[".repeat(20_000))
    expect(deep.value).to.equal(undefined)
    expect(deep.findings).to.have.length.at.least(1)
    expect(parseText("a: ".padEnd(3_000_000, "x")).findings[0]?.message).to.match(/limit/)
  })

  it("says that merge keys are not supported, where they stand, and takes the quoted key for a name", () => {
    const { value, findings } = parseText("base: &a { type: respond }\npipeline:\n  - <<: *a\n    body: {}\n")
    expect(value).to.equal(undefined)
    expect(findings).to.have.length(1)
    expect(findings[0]).to.include({ rule: "invalid-syntax", line: 3, column: 5 })
    expect(findings[0]?.message).to.include("Merge keys")
    expect(parseText('{ "<<": { "a": 1 } }').value).to.deep.equal({ "<<": { a: 1 } })
  })

  it("refuses a literal secret where that is asked for, and never shows it", () => {
    const text = "name: x\nauth_config:\n  secret: hunter2hunter2\n"
    const { findings } = parseText(text, { refuseLiteralSecrets: true })
    expect(findings).to.have.length(1)
    expect(findings[0]).to.include({ rule: "literal-secret", line: 3, pointer: "/auth_config/secret" })
    expect(JSON.stringify(findings)).not.to.include("hunter2")
    expect(parseText(text).findings).to.deep.equal([])
    expect(parseText("auth_config: { secret: { from_env: A } }", { refuseLiteralSecrets: true }).findings).to.deep.equal([])
  })

  it("gives back any JSON as it was", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        if (text.includes("__proto__")) return
        expect(parseText(text).value).to.deep.equal(JSON.parse(text))
      }),
    )
  })

  it("never throws, for any text", () => {
    const piece = fc.constantFrom(
      "a",
      ":",
      " ",
      "\n",
      "- ",
      "[",
      "{",
      "}",
      "]",
      '"',
      "'",
      "|",
      ">",
      "&x",
      "*x",
      "!",
      "---",
      "\t",
      "?",
      "#",
      "%",
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const { value, findings } = parseText(pieces.join(""))
        expect(value !== undefined || findings.length > 0).to.equal(true)
      }),
      { numRuns: 1_000 },
    )
  })

  it("says what is wrong with indentation once, and not what follows from it", () => {
    const step = "- type: respond\n"
    for (const [text, line, message] of [
      [`name: x\npipeline:\n\t${step}\t  body: {}\n\t${step}\t${step}`, 3, /tab/],
      [`name: x\npipeline:\n  ${step}     body: {}\n  ${step}    body: 1\n`, 3, /same indentation/],
    ] as const) {
      const { findings } = parseText(text)
      expect(findings).to.have.length(1)
      expect(findings[0]).to.include({ rule: "invalid-syntax", line })
      expect(findings[0]?.message).to.match(message)
    }
    expect(parseText("a: 1\na: 2\nb: 1\nb: 2").findings).to.have.length(2)
  })
})
