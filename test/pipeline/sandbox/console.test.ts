// Console output of transforms, as returned by the sandbox.
import { expect } from "chai"
import { sandboxOfSuite } from "./sandbox-under-test.ts"

describe("lines that a transform writes", () => {
  // A process that ends during an event loses its output. A busy machine could cause this with the default deadline.
  const { run } = sandboxOfSuite({ settings: { hard_deadline_ms: 10_000 } })
  const inTransform = (body: string) => `function transform(event) { ${body} }`
  const logLinesOf = async (body: string, payload: unknown = {}) => (await run(inTransform(body), payload)).logs

  it("have their level, and values as text, objects as JSON", async () => {
    const body = "console.log('a', event, 1, null, undefined); console.warn(new TypeError('b')); console.error(); return {}"
    expect(await logLinesOf(body, { n: 1 })).to.deep.equal([
      { level: "info", values: ["a", '{"n":1}', "1", "null", "undefined"] },
      { level: "warn", values: ["TypeError: b"] },
      { level: "error", values: [] },
    ])
    expect(await logLinesOf("console.debug('d'); console.info('i'); return null")).to.deep.equal([
      { level: "debug", values: ["d"] },
      { level: "info", values: ["i"] },
    ])
  })

  it("are those of this event alone, also where it throws or takes too long", async () => {
    const body = "if (event.say) console.log(event.say); if (event.loop) for (;;); if (event.fail) throw new Error('no'); return {}"
    const line = (text: string) => [{ level: "info", values: [text] }]
    const storedLogsOf = async (payload: object) => {
      const { ok, logs } = await run(inTransform(body), payload)
      return [ok, logs]
    }
    expect(await storedLogsOf({ say: "first" })).to.deep.equal([true, line("first")])
    expect(await storedLogsOf({})).to.deep.equal([true, undefined])
    expect(await storedLogsOf({ say: "second", fail: true })).to.deep.equal([false, line("second")])
    expect(await storedLogsOf({ say: "third", loop: true })).to.deep.equal([false, line("third")])
    expect(await storedLogsOf({})).to.deep.equal([true, undefined])
    const events = [{ say: "x" }, {}, { say: "y" }, {}]
    expect(await Promise.all(events.map(storedLogsOf))).to.deep.equal(events.map(({ say }) => [true, say && line(say)]))
  })

  it("stay within bounds, regardless of what a value does", async () => {
    const many = await logLinesOf("for (let n = 0; n < 25; n++) console.log(n); return {}")
    expect(many).to.have.length(21)
    expect(many?.at(-1)).to.deep.equal({ level: "warn", values: ["5 more lines were left out."] })
    const wide = await logLinesOf("console.log('x'.repeat(2000), ...Array(20).fill(1)); return {}")
    expect(wide?.[0]?.values).to.deep.equal(["x".repeat(1_000), ...Array(9).fill("1")])
    const hostile = "console.log({ toJSON() { throw 1 } }, 1n, { n: 1n }, Symbol('s'), { get a() { return 2 } }); return {}"
    const unshown = "(a value that cannot be shown)"
    expect((await logLinesOf(hostile))?.[0]?.values).to.deep.equal([unshown, "1", unshown, "Symbol(s)", '{"a":2}'])
  })
})
