// Each seeded fault fails its test, and the same test passes without the fault. A refactoring moves the text of a fault along.
// The test of a fault can be removed only if another test detects the fault.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { expect } from "chai"
import { projectRoot } from "../import-graph.ts"
import { timesVariable } from "../times.ts"
import { withFaults } from "./arming.ts"
import type { Fault } from "./fault.ts"
import { faults } from "./faults.ts"
import type { Outcome } from "./run.ts"

const minFaults = 60

describe("seeded faults", () => {
  const outcomes = new Map<number, Outcome>()
  let message = ""
  before(async () => {
    const { [timesVariable]: _, ...env } = process.env
    const child = spawn(process.execPath, [fileURLToPath(new URL("./run.ts", import.meta.url))], { cwd: projectRoot, env })
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
    message = `${output.slice(-2_000)}\n${errors.slice(-4_000)}`
    for (const line of output.split("\n")) {
      if (!line.startsWith('{"number":')) continue
      const outcome = JSON.parse(line) as Outcome
      outcomes.set(outcome.number, outcome)
    }
  })

  it("are many, each of its own rule", () => {
    expect(new Set(faults.map(({ rule }) => rule)).size).to.equal(faults.length)
    expect(faults.length).to.be.at.least(minFaults)
  })

  for (const [number, { rule, test, title }] of faults.entries()) {
    it(`are noticed: ${rule}`, () => {
      const { withFault, without } = outcomes.get(number) ?? expect.fail(`no outcome: ${message}`)
      expect(without, `without the fault: ${test} -g "${title}"`).to.deep.equal({ passed: 1, failed: [], broken: [] })
      expect(withFault.failed, `with the fault: ${test} -g "${title}" ${withFault.broken.join("\n")}`).to.have.length(1)
    })
  }
})

describe("the text of a fault", () => {
  const fault = (find: string, replace: string): Fault => ({ rule: "r", file: "f.ts", find, replace, test: "t", title: "t" })
  const source = ["const where = { revision: 1 }", "if (isOwn) return", "const access = { role: 'admin' }", "check(a, b)", ""].join("\n")
  const built = (...inputs: Fault[]) => withFaults(source, inputs, (item) => inputs.indexOf(item))
  const is = (number: number) => `globalThis.activeFaultOfTest === ${number}`

  it("is an expression, a statement or a property", () => {
    expect(built(fault("{ revision: 1 }", "{}"))).to.include(`const where = (${is(0)} ? ({}) : ({ revision: 1 }))`)
    expect(built(fault("check(a, b)", "undefined"))).to.include(`\nif (${is(0)}) { undefined } else { check(a, b) }\n`)
    expect(built(fault("role: 'admin'", "role: 'guest'"))).to.include(`{ get role() { return ${is(0)} ? ('guest') : ('admin') } }`)
  })

  it("may have several faults", () => {
    expect(built(fault("isOwn", "true"), fault("isOwn", "false"))).to.include(
      `if ((${is(1)} ? (false) : ((${is(0)} ? (true) : (isOwn))))) return`,
    )
  })

  it("must occur once", () => {
    expect(() => built(fault("const", "let"))).to.throw('f.ts: the text of "r" occurs 2 times')
    expect(() => built(fault("gone", "let"))).to.throw("occurs 0 times. Move the fault along: gone")
  })
})
