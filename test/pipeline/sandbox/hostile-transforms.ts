// Transforms that try to escape, to exceed their limits, or to return other values than data, each with acceptable outcomes.
// V8's timeout, the memory limit and the hard deadline may race, so several outcomes can be acceptable.

export interface Hostile {
  readonly name: string
  readonly transform: string
  readonly schema?: unknown
  readonly body?: unknown
  /** Acceptable outcomes: kinds of failure, "refused" at save, or "ok" if harmless here. */
  readonly expect: readonly string[]
  /** Required return value of an "ok". */
  readonly event?: unknown
}

const contained = ["timeout", "memory"]
const inTransform = (body: string) => `function transform(event) { ${body} }`

export const hostileTransforms: readonly Hostile[] = [
  // Time
  { name: "endless loop", transform: inTransform("for (;;) {}"), expect: ["timeout"] },
  { name: "endless loop that catches", transform: inTransform("for (;;) { try { for (;;) {} } catch {} }"), expect: ["timeout"] },
  { name: "endless loop in finally", transform: inTransform("try { throw 1 } finally { for (;;) {} }"), expect: ["timeout"] },
  {
    name: "endless generator",
    transform: "function* all() { for (;;) yield 1 }\nfunction transform() { for (const x of all()) ; }",
    expect: ["timeout"],
  },
  { name: "regex backtracking", transform: inTransform("return { ok: /^(a+)+$/.test('a'.repeat(40) + '!') }"), expect: ["timeout"] },
  { name: "endless getter", transform: inTransform("return { get x() { for (;;) {} } }"), expect: ["timeout"] },
  { name: "endless toJSON", transform: inTransform("return { toJSON() { for (;;) {} } }"), expect: ["timeout"] },
  {
    name: "toJSON that returns itself again",
    transform: inTransform("const f = () => ({ a: { toJSON: f } }); return f()"),
    expect: ["threw", "timeout", "bad_result"],
  },
  { name: "endless proxy", transform: inTransform("return new Proxy({}, { ownKeys() { for (;;) {} } })"), expect: ["timeout"] },
  { name: "endless valueOf", transform: inTransform("return { x: +{ valueOf() { for (;;) {} } } }"), expect: ["timeout"] },
  {
    name: "endless toString of what is thrown",
    transform: inTransform("const e = new Error(); Object.defineProperty(e, 'message', { get() { for (;;) {} } }); throw e"),
    expect: ["timeout"],
  },
  {
    name: "endless iterator",
    transform: inTransform("return [...{ [Symbol.iterator]() { return { next: () => ({ done: false, value: 0 }) } } }]"),
    expect: contained,
  },
  {
    name: "sparse list of a billion",
    transform: inTransform("const a = []; a.length = 4e9; return a"),
    expect: ["timeout", "bad_result", "memory", "threw"],
  },
  // Native calls that outlast V8's interrupts
  {
    name: "BigInt to string",
    transform: inTransform(
      "return { n: (2n ** 8000000n).toString().length, m: (3n ** 9000000n).toString().length, o: (7n ** 9000000n).toString().length }",
    ),
    expect: ["timeout", "ok", ...contained],
  },
  {
    name: "typed array fill and sort",
    transform: inTransform("for (;;) new Float64Array(2e6).fill(Math.random()).sort()"),
    expect: contained,
  },
  {
    name: "string replace over megabytes",
    transform: inTransform("let s = 'a'.repeat(2 ** 22); for (;;) s = s.replaceAll('a', 'b').replaceAll('b', 'a')"),
    expect: contained,
  },
  {
    name: "array of holes searched natively",
    transform: inTransform("const a = { length: 2 ** 53 - 1 }; return { at: Array.prototype.indexOf.call(a, 1) }"),
    expect: ["timeout"],
  },
  { name: "join of a huge hole", transform: inTransform("return { s: new Array(2 ** 28).join('') }"), expect: ["timeout", "ok", "memory"] },
  {
    name: "JSON.parse of its own megabytes",
    transform: inTransform("const s = '[' + '0,'.repeat(2 ** 21) + '0]'; for (;;) JSON.parse(s)"),
    expect: contained,
  },
  {
    name: "sort with a comparator that lies",
    transform: inTransform("const a = Array.from({ length: 1e6 }, (_, i) => i); for (;;) a.sort(() => 1)"),
    expect: contained,
  },
  {
    name: "string compare of long ropes",
    transform: inTransform(
      "let a = 'x', b = 'x'; for (let i = 0; i < 25; i++) { a += a; b += b } let n = 0; for (;;) if ((a + n) === (b + n++)) continue",
    ),
    expect: contained,
  },
  {
    name: "localeCompare over megabytes",
    transform: inTransform("const s = 'ä'.repeat(2 ** 21); for (;;) s.localeCompare(s + 'x')"),
    expect: contained,
  },
  {
    name: "normalize over megabytes",
    transform: inTransform("const s = '\\u1E9B\\u0323'.repeat(2 ** 20); for (;;) s.normalize('NFKD')"),
    expect: contained,
  },
  // Memory
  { name: "string that doubles", transform: inTransform("let s = 'x'; for (;;) s += s"), expect: ["threw", ...contained] },
  { name: "list without end", transform: inTransform("const a = []; for (;;) a.push({ a })"), expect: contained },
  { name: "typed arrays without end", transform: inTransform("const a = []; for (;;) a.push(new Uint8Array(1e7))"), expect: contained },
  {
    name: "one typed array of gigabytes",
    transform: inTransform("return { n: new Uint8Array(2 ** 32).length }"),
    expect: ["memory", "threw"],
  },
  {
    name: "Map without end",
    transform: inTransform("const m = new Map(); for (let i = 0; ; i++) m.set(i, 'x'.repeat(100) + i)"),
    expect: contained,
  },
  {
    name: "list made at once",
    transform: inTransform("return { n: new Array(2 ** 27).fill(0).length }"),
    expect: ["threw", "ok", ...contained],
  },
  {
    name: "strings of other strings",
    transform: inTransform("const a = []; for (let i = 0; ; i++) a.push(JSON.stringify('x'.repeat(100000) + i))"),
    expect: contained,
  },
  {
    name: "allocation while catching",
    transform: inTransform("const a = []; for (;;) { try { for (;;) a.push(new Array(1e5).fill(a)) } catch {} }"),
    expect: contained,
  },
  {
    name: "regex of a huge pattern",
    transform: inTransform("for (;;) new RegExp('(?:' + 'a?'.repeat(20000) + ')')"),
    expect: ["threw", ...contained],
  },
  // Stack
  { name: "recursion", transform: inTransform("return transform(event)"), expect: ["threw"] },
  {
    name: "recursion that catches",
    transform: "function dig(n) { try { return dig(n + 1) } catch { return dig(n) } }\nfunction transform() { return { n: dig(0) } }",
    expect: ["threw", ...contained],
  },
  {
    name: "stack overflow in a native frame",
    transform: inTransform("const deep = { toJSON() { return JSON.stringify(deep) } }; return { s: JSON.stringify(deep) }"),
    expect: ["threw"],
  },
  {
    name: "host error from an exhausted stack",
    transform:
      "function f() { try { f() } catch (e) { return e.constructor.constructor('return process')() } return 1 }\nfunction transform() { return { p: typeof f() } }",
    expect: ["threw", "timeout", "ok"],
  },
  // Values other than data
  { name: "function returned", transform: inTransform("return () => 1"), expect: ["bad_result"] },
  { name: "function inside", transform: inTransform("return { a: [{ f() {} }] }"), expect: ["bad_result"] },
  { name: "symbol returned", transform: inTransform("return Symbol('x')"), expect: ["bad_result"] },
  { name: "symbol inside", transform: inTransform("return { s: Symbol.iterator }"), expect: ["bad_result"] },
  { name: "BigInt returned", transform: inTransform("return { n: 1n }"), expect: ["bad_result"] },
  { name: "cycle", transform: inTransform("const a = {}; a.a = a; return a"), expect: ["bad_result"] },
  { name: "cycle by toJSON", transform: inTransform("const a = { toJSON() { return { a } } }; return a"), expect: ["bad_result", "threw"] },
  { name: "a megabyte and more", transform: inTransform("return { s: 'x'.repeat(1048577) }"), expect: ["bad_result"] },
  {
    name: "hundreds of megabytes",
    transform: inTransform("const s = '\\u0001'.repeat(2 ** 20); return Array(500).fill(s)"),
    expect: ["bad_result", ...contained],
  },
  { name: "Map", transform: inTransform("return { m: new Map([[1, 2]]) }"), expect: ["bad_result"] },
  { name: "text", transform: inTransform("return 'text'"), expect: ["bad_result"] },
  { name: "toJSON that gives a text", transform: inTransform("return new Date()"), expect: ["bad_result"] },
  {
    name: "a thousand levels",
    transform: inTransform("let a = {}; for (let i = 0; i < 1000; i++) a = { a }; return a"),
    expect: ["bad_result"],
  },
  { name: "throws null", transform: inTransform("throw null"), expect: ["threw"] },
  {
    name: "throws a trap",
    transform: inTransform("throw new Proxy({}, { get() { throw new Proxy({}, {}) }, getPrototypeOf() { throw 1 } })"),
    expect: ["threw"],
  },
  {
    name: "revoked proxy",
    transform: inTransform("const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy"),
    expect: ["threw"],
  },
  // Ways out
  {
    name: "constructor of a constructor",
    transform: inTransform("return { p: this?.constructor, q: typeof transform.constructor('return process')() }"),
    expect: ["threw"],
  },
  { name: "constructor by the event", transform: inTransform("return event.constructor.constructor('return this')()"), expect: ["threw"] },
  {
    name: "constructor of a generator",
    transform: inTransform("return Object.getPrototypeOf(function* () {}).constructor('yield 1')()"),
    expect: ["threw"],
  },
  { name: "indirect eval", transform: inTransform("return { p: (0, globalThis['ev' + 'al'])('1') }"), expect: ["threw"] },
  {
    name: "host globals",
    transform: inTransform(
      "return { all: ['process', 'require', 'module', 'Buffer', 'fetch', 'setTimeout', 'queueMicrotask', 'structuredClone', 'performance', 'ivm', '$0', 'millraceIsolate', 'global', 'Worker'].filter((name) => name in globalThis) }",
    ),
    expect: ["ok"],
    event: { all: [] },
  },
  {
    name: "Error.prepareStackTrace",
    transform: inTransform("Error.prepareStackTrace = (_, frames) => frames.map((f) => f.getThis()); return { s: new Error().stack }"),
    expect: ["threw"],
  },
  { name: "Error.stackTraceLimit", transform: inTransform("Error.stackTraceLimit = 1e9; return {}"), expect: ["threw"] },
  { name: "arguments.callee.caller", transform: inTransform("return { c: String(arguments.callee.caller) }"), expect: ["threw"] },
  { name: "function.caller", transform: inTransform("return { c: String(transform.caller) }"), expect: ["threw"] },
  {
    name: "Symbol.species on a result",
    transform: inTransform("class A extends Array { static get [Symbol.species]() { for (;;) {} } } return new A(1, 2).map((x) => x)"),
    expect: ["timeout"],
  },
  { name: "Object.prototype polluted", transform: inTransform("Object.prototype.polluted = 1; return {}"), expect: ["threw"] },
  {
    name: "Object.prototype defined on",
    transform: inTransform("Object.defineProperty(Object.prototype, 'toJSON', { value: () => 1 }); return {}"),
    expect: ["threw"],
  },
  {
    name: "pollution by a body's __proto__",
    transform: inTransform(
      "const out = {}; for (const k in event) out[k] = Object.assign(out[k] ?? {}, event[k]); return { polluted: {}.polluted ?? null }",
    ),
    body: '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    expect: ["ok", "threw"],
    event: { polluted: null },
  },
  { name: "JSON replaced", transform: inTransform("JSON.stringify = () => 'x'; return {}"), expect: ["threw"] },
  {
    name: "prototype of the global replaced",
    transform: inTransform("Object.setPrototypeOf(globalThis, { a: 1 }); return {}"),
    expect: ["threw"],
  },
  {
    name: "Atomics.wait",
    transform: inTransform("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); return {}"),
    expect: ["threw"],
  },
  { name: "WebAssembly", transform: inTransform("return { w: new WebAssembly.Memory({ initial: 65536 }) }"), expect: ["threw"] },
  { name: "FinalizationRegistry", transform: inTransform("new FinalizationRegistry(() => {}); return {}"), expect: ["threw"] },
  {
    name: "disposable stack",
    transform: inTransform("const s = new DisposableStack(); s.defer(() => { for (;;) {} }); s.dispose(); return {}"),
    expect: ["timeout"],
  },
  {
    name: "console",
    transform: inTransform("console.log(event); console.__proto__.log = 1; return {}"),
    expect: ["ok", "threw"],
    event: {},
  },
  // Refused at save
  { name: "promise", transform: inTransform("return Promise.resolve({})"), expect: ["refused"] },
  { name: "async function", transform: "async function transform() { return {} }", expect: ["refused"] },
  { name: "async arrow inside", transform: inTransform("(async () => { for (;;) await null })(); return {}"), expect: ["refused"] },
  { name: "import()", transform: inTransform("import('node:fs'); return {}"), expect: ["refused"] },
  { name: "import statement", transform: "import fs from 'node:fs'\nfunction transform() { return {} }", expect: ["refused"] },
  { name: "eval", transform: inTransform("return eval('1')"), expect: ["refused"] },
  {
    name: "breaking out of the wrapper",
    transform: "function transform() { return {} } }); globalThis.x = 1; (function () {",
    expect: ["refused"],
  },
  {
    name: "HTML comment that hides the end",
    transform: "function transform() { return {} } <!-- \n",
    expect: ["ok", "refused", "threw"],
    event: {},
  },
  { name: "trailing line comment", transform: "function transform() { return {} } // end", expect: ["ok"], event: {} },
  { name: "loop at top level", transform: "for (;;) {}\nfunction transform() { return {} }", expect: ["refused"] },
  { name: "call at top level", transform: "const x = (() => { for (;;) {} })()\nfunction transform() { return {} }", expect: ["refused"] },
  {
    name: "valueOf run by a top-level constant",
    transform: "const x = 1 + { valueOf() { for (;;) {} } }\nfunction transform() { return {} }",
    expect: ["refused", "timeout"],
  },
  // Schemas
  {
    name: "schema regex that backtracks",
    transform: inTransform("return {}"),
    schema: { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } },
    body: { a: `${"a".repeat(40)}!` },
    expect: ["timeout"],
  },
  {
    name: "schema property pattern that backtracks",
    transform: inTransform("return {}"),
    schema: { type: "object", patternProperties: { "^(a|a)*$": {} } },
    body: { [`${"a".repeat(40)}!`]: 1 },
    expect: ["timeout"],
  },
  {
    name: "schema that asks for unique items of many",
    transform: inTransform("return {}"),
    schema: { uniqueItems: true },
    body: Array.from({ length: 30_000 }, (_, i) => ({ i })),
    expect: ["timeout"],
  },
  {
    name: "schema that refers to itself",
    transform: inTransform("return {}"),
    schema: { $ref: "#" },
    body: {},
    expect: ["refused", "invalid", "threw", "timeout"],
  },
  {
    name: "schema that recurses without end",
    transform: inTransform("return {}"),
    schema: { $defs: { a: { allOf: [{ $ref: "#/$defs/b" }] }, b: { allOf: [{ $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" },
    body: {},
    expect: ["refused", "invalid", "threw", "timeout"],
  },
  {
    name: "schema that is code",
    transform: inTransform("return {}"),
    schema: { type: "object", properties: { "a'];process.exit()//": { const: "`$".concat("{process.exit()}`") } } },
    body: {},
    expect: ["ok"],
    event: {},
  },
  {
    name: "schema that calls out",
    transform: inTransform("return {}"),
    schema: { $ref: "http://127.0.0.1:9/schema.json" },
    expect: ["refused"],
  },
  {
    name: "schema that is asynchronous",
    transform: inTransform("return {}"),
    schema: { $async: true, type: "object" },
    expect: ["refused"],
  },
  {
    name: "schema in a dialect of its own",
    transform: inTransform("return {}"),
    schema: { $schema: "http://json-schema.org/draft-04/schema#" },
    expect: ["refused"],
  },
]
