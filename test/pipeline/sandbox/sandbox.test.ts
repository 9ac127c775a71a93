// The sandbox through its port: results of bodies, refusals, and no remaining state.
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { refusalOf } from "../../refusal.ts"
import { callOf, programOf, sandboxOfSuite, sandboxUnderTest } from "./sandbox-under-test.ts"

describe("sandbox", () => {
  const { sandbox, run, eventOf } = sandboxOfSuite()

  describe("transforms", () => {
    it("gives the second argument only to those that take one", async () => {
      expect(await eventOf("function transform(event, { headers, received_at }) { return { headers, received_at } }", {})).to.deep.equal({
        headers: { "x-a": "1" },
        received_at: "2026-01-02T03:04:05.678Z",
      })
      expect(await eventOf("function transform(...all) { return { n: all.length } }", {})).to.deep.equal({ n: 2 })
      expect(await eventOf("const transform = (event) => ({ n: event.n })", { n: 1 })).to.deep.equal({ n: 1 })
    })

    it("answers null for null and undefined, and a list for a list", async () => {
      expect(await eventOf("function transform() { return null }", {})).to.equal(null)
      expect(await eventOf("function transform() {}", {})).to.equal(null)
      expect(await eventOf("function transform() { return [1, 2] }", {})).to.deep.equal([1, 2])
    })

    it("writes numbers that JSON lacks as null, leaves undefined out and dates as text", async () => {
      expect(await run("function transform() { return { a: NaN, b: 1 / 0, c: undefined, d: new Date(0) } }", {})).to.include({
        event: '{"a":null,"b":null,"d":"1970-01-01T00:00:00.000Z"}',
      })
    })

    it("says what was thrown and in which of the author's lines", async () => {
      const result = await run("const a = 1\n\nfunction transform(event) {\n  return event.missing.deep\n}", {})
      expect(result).to.include({ ok: false, kind: "threw", line: 4 })
      expect(!result.ok && result.message).to.match(/^TypeError: .*deep/)
    })

    it("lets the clock stand where the event was received, in UTC and en-US", async () => {
      const transform = `function transform() { return {
        now: Date.now(), date: new Date().toISOString(), text: Date().slice(0, 24), same: new Date() instanceof Date, utc: Date.UTC(2020, 0),
        local: new Date(2026, 0, 1).toISOString(), intl: new Intl.DateTimeFormat().format(), parts: new Intl.DateTimeFormat().formatToParts().length,
        shown: new Date().toLocaleString(), number: (1234.5).toLocaleString(), zone: Intl.DateTimeFormat().resolvedOptions().timeZone } }`
      expect(await eventOf(transform, {})).to.deep.equal({
        now: 1767323045678,
        date: "2026-01-02T03:04:05.678Z",
        text: "Fri Jan 02 2026 03:04:05",
        same: true,
        utc: 1577836800000,
        local: "2026-01-01T00:00:00.000Z",
        intl: "1/2/2026",
        parts: 5,
        shown: "1/2/2026, 3:04:05 AM",
        number: "1,234.5",
        zone: "UTC",
      })
    })

    it("draws the same random numbers for the same execution, and others for another", async () => {
      const transform = "function transform() { return Array.from({ length: 100 }, Math.random) }"
      const first = (await eventOf(transform, {}, { seed: "a" })) as number[]
      expect(await eventOf(transform, {}, { seed: "b" })).not.to.deep.equal(first)
      expect(await eventOf(transform, {}, { seed: "a" })).to.deep.equal(first)
      expect(new Set(first).size).to.equal(100)
      expect(first.every((n) => n >= 0 && n < 1)).to.equal(true)
      expect(first.reduce((a, b) => a + b) / 100).to.be.within(0.4, 0.6)
    })

    it("lets an own property be assigned that a frozen prototype names", async () => {
      const transform = `function transform() { const out = {}; out.constructor = 'c'; out.toString = 's'; out.valueOf = 1; out.hasOwnProperty = 2
        const e = new Error('m'); e.message = 'n'; e.name = 'N'; const a = [1]; a.map = 'mine'; const f = () => 1; f.call = 3
        return { ...out, message: e.message, name: e.name, map: a.map, call: f.call } }`
      expect(await eventOf(transform, {})).to.deep.equal({
        constructor: "c",
        toString: "s",
        valueOf: 1,
        hasOwnProperty: 2,
        message: "n",
        name: "N",
        map: "mine",
        call: 3,
      })
    })
  })

  describe("refuses at save", () => {
    const refused: readonly [string, string, number, number][] = [
      ["a syntax error", "function transform(event) {\n  return {\n", 3, 1],
      ["a let at top level", "let n = 0\nfunction transform() { return { n: n++ } }", 1, 1],
      ["a mutable collection at top level", "const seen = new Set()\nfunction transform() { return {} }", 1, 14],
      ["a regex with a position at top level", "const r = /a/g\nfunction transform() { return {} }", 1, 11],
      ["a function that is assigned", "function transform() {\n  transform = () => ({})\n}", 2, 3],
      ["a function assigned by destructuring", "function f() {}\nfunction transform() { ({ a: [f = 1] } = {}) }", 2, 25],
      ["a getter in a constant", "const a = { get x() { return 1 } }\nfunction transform() { return {} }", 1, 13],
      ["async", "async function transform() {}", 1, 1],
      ["a loop at top level", "function transform() {}\nwhile (true) {}", 2, 1],
    ]
    for (const [name, transform, line, column] of refused) {
      it(name, async () => {
        const { program, problems } = await sandbox.compile({ organization: "acme", schema: null, transform })
        expect(program).to.equal(null)
        expect(problems[0]).to.include({ part: "transform", line, column })
      })
    }

    it("a text without a function named transform", async () => {
      const { problems } = await sandbox.compile({ organization: "acme", schema: null, transform: "const other = (event) => event" })
      expect(problems[0]?.message).to.include("function transform(event)")
    })

    it("a schema, with a pointer to what is wrong, beside the transform", async () => {
      const { program, problems } = await sandbox.compile({
        organization: "acme",
        schema: { properties: { a: { type: "sting" } } },
        transform: "let a",
      })
      expect(program).to.equal(null)
      expect(problems.map(({ part, pointer }) => [part, pointer])).to.deep.include.members([
        ["schema", "/properties/a/type"],
        ["transform", undefined],
      ])
    })

    it("a reference that leads outside, and a schema of more than 256 KiB", async () => {
      const outside = await sandbox.compile({
        organization: "acme",
        schema: { properties: { a: { $ref: "https://a.test/b.json" } } },
        transform: null,
      })
      expect(outside.problems[0]).to.include({ part: "schema", pointer: "/properties/a/$ref" })
      const large = await sandbox.compile({ organization: "acme", schema: { enum: ["x".repeat(262_144)] }, transform: null })
      expect(large.problems[0]?.message).to.include("262144")
    })
  })

  describe("leaves nothing of one event to the next", () => {
    const leaks: Record<string, string> = {
      "regex statics":
        "function transform(event) { const seen = RegExp.input ?? RegExp.$1 ?? RegExp['$&'] ?? null; /(.*)/.exec(event.s); return { seen } }",
      "a function's own property":
        "function transform(event) { try { transform.seen ??= event.s } catch {} return { seen: transform.seen ?? null } }",
      "a helper's prototype":
        "function Help() {}\nfunction transform(event) { try { Help.prototype.seen = event.s } catch {} return { seen: new Help().seen ?? null } }",
      "a top-level list":
        "const kept = { list: Object.freeze([{}]) }\nfunction transform(event) { const seen = kept.list[0].s ?? kept.s ?? null; try { kept.s = event.s } catch {} try { kept.list[0].s = event.s } catch {} return { seen } }",
      "a top-level regex":
        "const r = /a/\nfunction transform(event) { const seen = r.seen ?? r.source; try { r.seen = event.s } catch {} try { r.compile(event.s) } catch {} try { r.lastIndex = 5 } catch {} return { seen: seen === 'a' && r.lastIndex === 0 ? null : seen } }",
      "the global object":
        "function transform(event) { const seen = globalThis.seen ?? null; try { globalThis.seen = event.s } catch {} return { seen } }",
      "array prototypes":
        "function transform(event) { const seen = [].seen ?? null; try { Array.prototype.seen = event.s } catch {} try { Array.prototype.push(event.s) } catch {} return { seen: seen ?? [][0] ?? null } }",
      "hidden prototypes":
        "function* g() {}\nfunction transform(event) { const all = [[][Symbol.iterator](), g(), ''.matchAll(/x/g), new Map().keys(), Iterator.from([]), [].values().map(Number), new Intl.Segmenter().segment('')].map((x) => Object.getPrototypeOf(x)); const seen = all.find((p) => p.seen)?.seen ?? null; for (const p of all) try { p.seen = event.s } catch {} return { seen } }",
      "arguments of what wraps it":
        "const transform = (event) => { const seen = arguments[0] ?? null; try { arguments[0] = event.s } catch {} return { seen } }",
      "symbols and stack traces":
        "function transform(event) { const seen = Error.seen ?? Symbol.seen ?? Math.seen ?? null; for (const o of [Error, Symbol, Math, Intl, JSON, Reflect]) try { o.seen = event.s } catch {} return { seen } }",
      "a list that grows":
        "const kept = [[]]\nfunction transform(event) { const seen = kept[0][0] ?? null; try { kept[0].push(event.s) } catch {} return { seen } }",
      "a template's strings":
        "function tag(strings) { return strings }\nfunction transform(event) { const t = tag`x`; const seen = t.seen ?? null; try { t.seen = event.s } catch {} return { seen } }",
    }
    for (const [name, transform] of Object.entries(leaks)) {
      it(name, async () => {
        for (let i = 0; i < 3; i++) expect(await eventOf(transform, { s: "left behind" })).to.deep.equal({ seen: null })
      })
    }
  })

  describe("keeps what it gives back within bounds", () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`

    it("refuses a result that says another thing when it is read again", async () => {
      const result = await run(
        "function transform() { let reads = 0; const deep = JSON.parse('['.repeat(4000) + ']'.repeat(4000)); return { get list() { return reads++ === 0 ? [] : deep } } }",
        {},
      )
      expect(result).to.include({ ok: false, kind: "bad_result", message: "transform's result nests deeper than 100 levels." })
    })

    it("refuses what no store keeps: numbers beyond a double, and __proto__", async () => {
      expect(await run(null, '{"n":1e400}')).to.deep.include({
        kind: "malformed",
        message: "The number 1e400 in the body is too large for a number; send it as a string.",
      })
      for (const body of ['{"__proto__":1}', '{"a":[{"__pro\\u0074o__" : {}}]}'])
        expect(await run(null, body)).to.include({
          kind: "malformed",
          message: 'The body has a property named "__proto__", which can\'t be kept.',
        })
      const text = "function transform(event) { return JSON.parse(event.text) }"
      expect(await run(text, { text: '{"__proto__":1}' })).to.include({ kind: "bad_result" })
      const meant = { text: '"__proto__":', 'a"__proto__': 1, n: "1e400" }
      expect(await eventOf(null, meant)).to.deep.equal(meant)
      expect(await eventOf(null, `{"n":${"9".repeat(400)}}`)).to.deep.equal({ n: "9".repeat(400) })
    })

    it("takes a hundred levels, and names the limit beyond", async () => {
      expect(JSON.stringify(await eventOf(null, nested(100)))).to.equal(nested(100))
      const wide = { list: Array.from({ length: 150 }, () => [{}]), text: "[{".repeat(150) }
      expect(await eventOf(null, wide)).to.deep.equal(wide)
      for (const levels of [101, 1_500, 100_000])
        expect(await run("function transform() { return {} }", nested(levels))).to.include({
          kind: "malformed",
          message: "The body nests deeper than 100 levels.",
        })
    })
  })

  describe("lets no code of the author's run before the first event", () => {
    const keep =
      "const f = function () {}\nfunction transform(event) { const seen = f.m?.get(1) ?? null; f.m?.set(1, event.s); return { seen } }\n"
    const makers: Record<string, string> = {
      "an operand's valueOf": "const s = 1 + { valueOf() { f.m = new Map(); return 0 } }",
      "a constant's valueOf": "const o = { valueOf() { f.m = new Map(); return 0 } }\nconst s = o < 1",
      "a list's join": "const o = { toString() { f.m = new Map(); return '' } }\nconst s = [o] + ''",
      "a sign": "const s = +{ valueOf() { f.m = new Map(); return 0 } }",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the source is one of a transform.
      "a template": "const s = `${{ toString() { f.m = new Map(); return '' } }}`",
      "a computed name": "const s = { [{ toString() { f.m = new Map(); return '' } }]: 1 }",
      "loose equality": "const s = 1 == { valueOf() { f.m = new Map(); return 0 } }",
      "a choice": "const s = (true ? { valueOf() { f.m = new Map(); return 0 } } : 1) * 2",
      "an Object of its own": "const Object = { freeze: () => { f.m = new Map() } }\nconst s = Object.freeze(1)",
    }
    for (const [name, maker] of Object.entries(makers)) {
      it(name, async () => {
        const { program, problems } = await sandbox.compile({ organization: "acme", schema: null, transform: `${keep}${maker}` })
        expect(program).to.equal(null)
        expect(problems[0]).to.include({ part: "transform" })
      })
    }

    it("and takes constants that are computed of texts and numbers", async () => {
      const source =
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the source is a transform's.
        "const MINUTE = 60\nconst DAY = 24 * 60 * MINUTE\nconst base = 'https://' + `x-${DAY}`\nconst map = { [base]: -DAY, ['a' + 1]: !base }\nconst either = base === '' ? 1 : DAY > 1 && 'long'\nfunction transform() { return { map, either } }"
      expect(await eventOf(source, {})).to.deep.equal({ map: { "https://x-86400": -86_400, a1: false }, either: "long" })
    })
  })

  describe("keeps programs", () => {
    it("gives the same source the same digest, and another another", async () => {
      const first = await programOf(sandbox, "function transform() { return {} }", { type: "object" })
      expect((await programOf(sandbox, "function transform() { return {} }", { type: "object" })).digest).to.equal(first.digest)
      expect((await programOf(sandbox, "function transform() { return {  } }", { type: "object" })).digest).not.to.equal(first.digest)
    })

    it("in a folder, so that a start need not compile", async () => {
      const folder = await mkdtemp(join(tmpdir(), "millrace-programs-"))
      try {
        const before = sandboxUnderTest({ cacheFolder: folder })
        const program = await programOf(before, "function transform() { return { kept: 1 } }", { type: "object" })
        await before.stop()
        expect(await readdir(folder)).to.deep.equal([`${program.digest}.json`])
        const after = sandboxUnderTest({ cacheFolder: folder })
        expect(await programOf(after, "function transform() { return { kept: 1 } }", { type: "object" })).to.deep.equal(program)
        await after.stop()
      } finally {
        await rm(folder, { recursive: true })
      }
    })
  })

  it("starts no process for what has neither schema nor transform", async () => {
    const stopped = sandboxUnderTest()
    await stopped.stop()
    const compile = (transform: string | null) => stopped.compile({ organization: "acme", schema: null, transform })
    expect(await refusalOf(compile("function transform(event) { return event }"))).to.include({ code: "unavailable" })
    const { program, problems } = await compile(null)
    expect(problems).to.deep.equal([])
    expect(program).to.include({ validator: null, transform: null })
  })

  it("compiles once for all organizations where they are one user's, and for each its own otherwise", async () => {
    for (const compileAs of ["own", undefined]) {
      const item = sandboxUnderTest({ compileAs })
      const compile = (organization: string) => item.compile({ organization, schema: { type: "object" }, transform: null })
      const { program } = await compile("acme")
      await item.stop()
      expect(program).to.not.equal(null)
      if (compileAs === undefined) expect(await refusalOf(compile("globex"))).to.include({ code: "unavailable" })
      else expect((await compile("globex")).program).to.deep.equal(program)
    }
  })

  it("collects what a pipeline is sent while its process is busy", async () => {
    /** For each sent group: the number of events in it and before it. */
    const ends: number[] = []
    let [answered, mostOut] = [0, 0]
    const observing = sandboxUnderTest({
      observe: (sight) => {
        if (sight.type !== "batch") return
        ends.push((ends.at(-1) ?? 0) + sight.events)
        mostOut = Math.max(mostOut, ends.filter((end) => end > answered).length)
      },
    })
    await observing.start()
    try {
      const program = await programOf(sandbox, "function transform(event) { let n = 0; while (n < event.n) n++; return {} }")
      const send = (n: number) => observing.run(callOf(program, { n })).finally(() => answered++)
      const calls = [send(1e7)]
      for (let i = 0; i < 20; i++) {
        await new Promise((resolve) => setImmediate(resolve))
        calls.push(send(1))
      }
      for (const result of await Promise.all(calls)) expect(result).to.include({ ok: true })
      // The next group is sent before the waiters of the last are resolved.
      expect(mostOut).to.be.at.most(2)
    } finally {
      await observing.stop()
    }
  })

  it("serves more pipelines than it keeps isolates", async () => {
    const small = sandboxUnderTest({ settings: { max_isolates: 2 } })
    try {
      await small.start()
      const program = await programOf(sandbox, "function transform(event) { return event }")
      for (let round = 0; round < 2; round++) {
        const results = await Promise.all(Array.from({ length: 6 }, (_, i) => small.run(callOf(program, { i }, { pipelineId: `p${i}` }))))
        expect(results.map((result) => result.ok && JSON.parse(result.event).i)).to.deep.equal([0, 1, 2, 3, 4, 5])
      }
      small.forget("p5")
      expect((await small.run(callOf(program, {}, { pipelineId: "p5" }))).ok).to.equal(true)
    } finally {
      await small.stop()
    }
  })
})
