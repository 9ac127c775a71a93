// Scripts of plugins: run in the sandbox with their input, within deadline and size, with error messages about scripts.

import { expect } from "chai"
import { Scripts } from "#core"
import { type TestHost, testHost } from "#core/testing"
import type { ScriptCall } from "../../../core/contract/sandbox.ts"

describe("scripts", () => {
  let host: TestHost
  let scripts: Scripts
  before(async () => {
    host = await testHost()
    scripts = host.get(Scripts)
  })
  after(() => host.stop())

  const call = (source: string, more: Partial<ScriptCall> = {}): ScriptCall => ({
    organization: host.organization.id,
    id: source,
    source,
    input: {},
    now: Date.UTC(2026, 0, 2),
    seed: "first",
    ...more,
  })

  it("get their input as it stands, and give back data", async () => {
    const input = { is_test: true, _envelope: { page_url: "x" }, list: [1, null] }
    const echo = "function script(input) { return { input, now: new Date().toISOString() } }"
    expect(await scripts.run(call(echo, { input }))).to.deep.equal({ ok: true, value: { input, now: "2026-01-02T00:00:00.000Z" } })
    expect(await scripts.run(call("const script = () => null"))).to.deep.equal({ ok: true, value: null })
  })

  it("give the same for the same seed and time", async () => {
    const dice = "function script() { return [Math.random(), Date.now()] }"
    const first = await scripts.run(call(dice))
    expect(await scripts.run(call(dice))).to.deep.equal(first)
    expect(await scripts.run(call(dice, { seed: "second" }))).to.not.deep.equal(first)
  })

  it("may take longer than an event's transform, and no longer than their deadline", async () => {
    const busy = "function script({ n }) { while (n > 0) n--; return { n } }"
    expect(await scripts.run(call(busy, { input: { n: 3e7 } }))).to.deep.equal({ ok: true, value: { n: 0 } })
    expect(await scripts.run(call(busy, { input: { n: 1e12 }, deadlineMs: 20 }))).to.deep.equal({
      ok: false,
      kind: "timeout",
      message: "The script timed out after 20 ms.",
    })
  })

  it("say what is wrong with them, before and when they run", async () => {
    expect(await scripts.check(host.organization.id, "function script(input) { return input }")).to.deep.equal([])
    const [problem] = await scripts.check(host.organization.id, "\nlet kept = 1\nfunction script() {}")
    expect(problem).to.include({ line: 2, column: 1 })
    const nameless = await scripts.run(call("function transform(event) { return event }"))
    expect(nameless).to.deep.equal({
      ok: false,
      kind: "refused",
      message: "The script defines no function named script; write `function script(input) { ... }`.",
    })
    expect(await scripts.run(call("function script(input) {\n  return input.a.b\n}"))).to.include({ kind: "threw", line: 2 })
    expect(await scripts.run(call("function script() { return 1 }"))).to.deep.include({
      kind: "bad_result",
      message: "script returned a number; return an object, a list or null.",
    })
  })

  it("give back at most what the caller takes", async () => {
    const long = "function script() { return ['x'.repeat(100)] }"
    expect(await scripts.run(call(long, { maxResultBytes: 104 }))).to.have.property("ok", true)
    expect(await scripts.run(call(long, { maxResultBytes: 103 }))).to.include({
      kind: "bad_result",
      message: "The script returned 104 bytes of JSON; at most 103 are allowed.",
    })
  })

  it("reach nothing", async () => {
    const globals =
      "function script() { return [typeof process, typeof require, typeof fetch, typeof setTimeout, typeof globalThis.Function('1')] }"
    expect(await scripts.run(call(globals))).to.include({ ok: false, kind: "threw" })
    const names =
      "function script() { return ['process', 'require', 'fetch', 'setTimeout', 'Buffer'].filter((name) => name in globalThis) }"
    expect(await scripts.run(call(names))).to.deep.equal({ ok: true, value: [] })
  })

  it("can't be given limits that the sandbox does not keep", async () => {
    const failed = await scripts.run(call("function script() {}", { deadlineMs: 10_000 })).catch((error: Error) => error)
    expect(failed).to.be.instanceOf(RangeError)
  })
})
