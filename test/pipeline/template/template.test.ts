// Templates and expressions: types are preserved, text is rendered, only the scope is reachable, and errors are found at compile
// time.
import { expect } from "chai"
import fc from "fast-check"
import type { Json } from "../../../core/contract/collection.ts"
import { AppError } from "../../../core/kernel/errors.ts"
import type { TemplateScope } from "../../../core/pipeline/graph.ts"
import { compileExpression, compileJson, compileText } from "../../../core/pipeline/template.ts"
import { scope } from "../doubles.ts"

function text(source: string, values: TemplateScope = scope): unknown {
  const compiled = compileText(source)
  if (!compiled.ok) throw new Error(compiled.problems.join("; "))
  return compiled.evaluate(values)
}

function value(source: string, values: TemplateScope = scope): unknown {
  const compiled = compileExpression(source)
  if (!compiled.ok) throw new Error(compiled.problems.join("; "))
  return compiled.evaluate(values)
}

function problems(source: string, of = compileExpression): readonly string[] {
  const compiled = of(source)
  return compiled.ok ? [] : compiled.problems
}

describe("templates", () => {
  it("keep the type of a string that is exactly one expression", () => {
    expect(text("{{ event.budget }}")).to.equal(1500)
    expect(text("{{event.tags}}")).to.deep.equal(["a", "b"])
    expect(text("{{ event.nested }}")).to.deep.equal(scope.event && (scope.event as { nested: unknown }).nested)
    expect(text("{{ event.flag }}")).to.equal(false)
    expect(text("{{ event.nowhere.at.all }}")).to.equal(null)
    expect(text("{{ nil }}")).to.equal(null)
    expect(text("{{ empty }}")).to.not.be.an("object")
  })

  it("render anything else to text, objects as JSON and nothing as nothing", () => {
    expect(text("Hello {{ event.name }}, {{ event.budget }}!")).to.equal("Hello Ada, 1500!")
    expect(text(" {{ event.budget }}")).to.equal(" 1500")
    expect(text("{{ event.tags }} {{ event.nested.deep[1] }}{{ event.nope }}")).to.equal('["a","b"] {"x":"y"}')
    expect(text("{% if event.budget > 1000 %}big {{ event.nested }}{% else %}small{% endif %}")).to.equal('big {"deep":[1,{"x":"y"}]}')
    expect(text("{% for tag in event.tags %}<{{ tag }}>{% endfor %}")).to.equal("<a><b>")
    expect(text("a {{- event.name -}} b")).to.equal("aAdab")
  })

  it("read paths as Liquid does", () => {
    for (const path of [
      "event.tags.size",
      "event.tags.first",
      "event.tags.last",
      "event.tags[-1]",
      "event.name.size",
      'event["odd key"]',
    ]) {
      // The second uses Liquid itself, because of its filter.
      expect(text(`{{ ${path} }}`), path).to.deep.equal(value(`${path} | default: 0`))
    }
    expect(value('event["odd key"]')).to.equal(7)
    expect(value("event.nested.deep[1].x")).to.equal("y")
  })

  it("see no prototypes, no environment and no functions", () => {
    for (const source of [
      "event.constructor",
      "constructor",
      "event.__proto__",
      "event.tags.constructor",
      "event.name.__proto__",
      "event.tags.map",
    ]) {
      expect(value(source), source).to.equal(null)
      expect(text(`x{{ ${source} | upcase }}`), source).to.equal("x")
    }
    expect(value("process.env.HOME")).to.equal(null)
    expect(value("event.nested | map: 'constructor'")).to.deep.equal([undefined])
  })

  it("use the builtin filters with their arguments", () => {
    expect(text("{{ event.name | upcase | append: event.email }}")).to.equal("ADAada@acme.test")
    expect(text("{{ event.budget | divided_by: 7 | round: 2 }}")).to.equal(214.29)
    expect(text("{{ event.nope | default: 'none' }}")).to.equal("none")
    expect(text("{{ envelope.received_at | date: '%Y-%m-%d %H:%M' }}")).to.equal("2026-01-02 03:04")
  })

  it("refuse the present time and chance, which differ from one try to the next", () => {
    expect(() => text("{{ 'now' | date: '%s' }}")).to.throw(AppError, /received_at/)
    expect(() => text("{% assign t = 'today' | date: '%s' %}{{ t }}")).to.throw(AppError, /received_at/)
    expect(problems("event.tags | sample")).to.have.length(1)
  })

  it("report what Liquid would ignore", () => {
    const bad: Record<string, RegExp> = {
      "event.a b": /"b" after the end/,
      "event.a >= 1 event.b": /"event.b" after the end/,
      "event.a , b": /", b" after the end/,
      "event.a ) b": /after the end/,
      "a ==": /ends with an operator/,
      "== a": /no left operand/,
      "a and": /ends with an operator/,
      "a b ==": /"b ==" after/,
      "a..b": /cannot be parsed/,
      "a | upcas": /filter "upcas" does not exist.*"upcase"/,
      "a | upcase |": /filter is missing/,
      "a | default: 3 4": /unexpected character/i,
      "event[a b]": /one value between/,
      "size(a)": /range/i,
      "event.soon && event.paid": /Write "and"/,
      "event.soon || event.paid": /Write "or"/,
      "!event.canceled": /"!" is not an operator here.*"x == false"/,
      "event.soon and !event.canceled": /== false/,
      "event.kind = 'a'": /write "=="/,
      "": /empty/,
      "{{ event.a }}": /bare/,
    }
    for (const [source, message] of Object.entries(bad)) expect(problems(source).join(" "), source).to.match(message)
    const good = [
      "not event.a",
      "a and not b or c contains 'x'",
      "(1..3)",
      "event[steps.save.row_id].b",
      "'a b' == \"c, d\"",
      "a | slice: 0, 3",
    ]
    for (const source of good) expect(problems(source), source).to.deep.equal([])
  })

  it("report tags that read files, write the scope or do not exist, and tags left open", () => {
    for (const tag of ["include 'x'", "render 'x'", "layout 'x'", "increment n", "liquid", "echo event.a", "frobnicate"]) {
      expect(problems(`{% ${tag} %}`, compileText).join(), tag).to.match(/cannot be used here/)
    }
    expect(problems("{% if event.a %}", compileText).join()).to.match(/not closed/)
    expect(problems("{{ event.a ", compileText).join()).to.match(/not closed/)
    expect(problems("{{ }}", compileText).join()).to.match(/no expression/)
    expect(problems("{% if event.a event.b %}x{% endif %}", compileText).join()).to.match(/after the end/)
  })

  it("say which paths they read, local names excepted", () => {
    const reads = (source: string) => {
      const compiled = compileText(source)
      return compiled.ok ? compiled.reads.map(({ root, path }) => [root, ...path].join(".")) : compiled.problems
    }
    expect(reads("{{ event.a.b[0]['c d'] }}")).to.deep.equal(["event.a.b.0.c d"])
    expect(reads("{{ event.a | append: steps.save.row_id }}")).to.deep.equal(["event.a", "steps.save.row_id"])
    expect(reads("{{ event[payload.key].x }}")).to.deep.equal(["event", "payload.key"])
    expect(reads("{% for t in event.tags %}{{ t.name }}{{ forloop.index }}{% endfor %}")).to.deep.equal(["event.tags"])
    expect(reads("{% assign x = query.a %}{{ x }}")).to.deep.equal(["query.a"])
  })

  it("stop at their limits", () => {
    expect(() => text("{% for i in (1..100000000) %}x{% endfor %}")).to.throw(AppError, /limit/i)
    const nested = "{% for i in (1..3000) %}{% for j in (1..3000) %}{{ i }}{% endfor %}{% endfor %}"
    expect(() => text(nested)).to.throw(AppError, /limit/i)
    const long = { ...scope, event: { a: "x".repeat(600_000) } }
    expect(() => text("{{ event.a }}{{ event.a }}", long)).to.throw(AppError, /1200000 characters/)
  })

  it("give the same for comparisons whether Liquid or a closure evaluates them", () => {
    const literal = fc.oneof(
      fc.integer({ min: -3, max: 3 }).map(String),
      fc.constantFrom("'a'", "true", "nil", "event.a", "event.b", "empty"),
    )
    const operator = fc.constantFrom("==", "!=", ">", "<", ">=", "<=", "contains", "and", "or")
    const a = fc.oneof(
      fc.integer({ min: -3, max: 3 }),
      fc.constant("a"),
      fc.constant(null),
      fc.constant([]),
      fc.boolean(),
    ) as fc.Arbitrary<Json>
    fc.assert(
      fc.property(literal, operator, literal, operator, literal, a, (x, o, y, p, z, input) => {
        const source = `${x} ${o} ${y} ${p} ${z}`
        const event = { ...scope, event: { a: input, b: 2 } }
        const expected = text(`{% if ${source} %}yes{% else %}no{% endif %}`, event)
        expect(value(source, event) ? "yes" : "no", source).to.equal(expected)
      }),
      { numRuns: 400 },
    )
  })

  it("leave JSON without templates alone and render the rest in place", () => {
    expect(compileJson({ a: [1, "x"], b: null }, "").evaluate).to.equal(undefined)
    const compiled = compileJson({ a: [1, "{{ event.budget }}", null], b: { c: "{{ event.nope }}", d: "{{" + " event.a b }}" } }, "/body")
    expect(compiled.problems.map((problem) => problem.pointer)).to.deep.equal(["/body/b/d"])
    expect(compiled.reads.map((item) => item.pointer)).to.deep.equal(["/body/a/1", "/body/b/c"])
    expect(compileJson({ a: [1, "{{ event.budget }}", null] }, "").evaluate?.(scope)).to.deep.equal({ a: [1, 1500, null] })
  })

  it("compile any text to a template or to problems, without an exception", () => {
    const piece = fc.constantFrom(
      "{{",
      "}}",
      "{%",
      "%}",
      " if ",
      "for x in ",
      "event.a",
      "|",
      "'",
      "[",
      "]",
      "(",
      "..",
      ")",
      " and ",
      "raw",
      "endraw",
      "-",
      "\n",
      "é",
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const source = pieces.join("")
        for (const compiled of [compileText(source), compileExpression(source)]) {
          expect(compiled.ok || compiled.problems.length > 0).to.equal(true)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})
