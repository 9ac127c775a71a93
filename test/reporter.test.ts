// The reporter in a run of mocha: otherwise invisible problems fail the run and are named.
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "./import-graph.ts"
import { finished } from "./processes.ts"

describe("test reporter", () => {
  let folder = ""

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-reporter-"))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  async function run(
    files: Readonly<Record<string, string>>,
    env: Readonly<Record<string, string>> = {},
    mode = ["--parallel", "--jobs", "2"],
  ) {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const paths = Object.keys(files).filter((name) => name.endsWith(".mjs"))
    const mocha = join(projectRoot, "node_modules/mocha/bin/mocha.js")
    const args = [mocha, ...mode, ...paths.map((name) => join(folder, name))]
    const { MILLRACE_TEST_ALLOWED_SKIPS: _, ...inherited } = process.env
    return await finished(spawn(process.execPath, args, { cwd: projectRoot, env: { ...inherited, ...env } }))
  }

  const passing = 'describe("a", () => { it("passes", () => {}) })\n'

  it("counts a file without any test as failed, and says so", async () => {
    const { code, output } = await run({ "passing.test.mjs": passing, "empty.test.mjs": "export {}\n" })
    expect(output).to.include("mocha counts 1 failed where 0 failures were reported")
    expect(output).to.match(/^1 passed, 1 failed$/m)
    expect(code).to.equal(1)
  })

  it("fails where more is skipped than the list allows, and names it", async () => {
    const skipping = 'describe("b", () => { it.skip("is listed", () => {}); it.skip("is not", () => {}) })\n'
    writeFileSync(join(folder, "allowed"), "b is listed\n")
    const files = { "passing.test.mjs": passing, "skipping.test.mjs": skipping }
    const { code, output } = await run(files, { MILLRACE_TEST_ALLOWED_SKIPS: join(folder, "allowed") })
    expect(output).to.match(/^ {2}b is listed$/m)
    expect(output).to.match(/^ {2}b is not \(not listed in /m)
    expect(output).to.match(/^1 passed, 1 failed$/m)
    expect(code).to.equal(1)
    const without = await run(files)
    expect(without.output).to.match(/^skipped: 2 of .*skipping\.test\.mjs$/m)
    expect(without.code, without.output).to.equal(0)
  })

  for (const mode of [["--parallel", "--jobs", "2"], []])
    for (const [kind, fault] of Object.entries({
      "a rejection without a handler": 'Promise.reject(new Error("lost"))',
      "a rejection with a value": 'Promise.reject("lost")',
      "an uncaught exception": 'setImmediate(() => { throw new Error("lost") })',
    })) {
      it(`fails a test with ${kind} ${mode.length > 0 ? "in a worker" : "in one process"}`, async () => {
        // Mocha fails a test at an exception and continues. A test that ended afterwards would be another error.
        const wait =
          kind === "an uncaught exception" ? "await new Promise(() => {})" : "await new Promise((resolve) => setTimeout(resolve, 50))"
        const dropping = `describe("c", () => { it("drops", async () => { ${fault}; ${wait} }) })\n`
        const { code, output } = await run({ "passing.test.mjs": passing, "dropping.test.mjs": dropping }, {}, mode)
        expect(output).to.match(/failed: .*drops.*: .*lost/)
        expect(code, output).to.not.equal(0)
      })
    }

  it("shows what each file took", async () => {
    const { output } = await run({ "passing.test.mjs": passing, "other.test.mjs": passing })
    expect(output).to.match(/^ {2}\d+\.\d \(\d+\.\d\) .*passing\.test\.mjs$/m)
    expect(output).to.match(/^2 passed, 0 failed$/m)
  })
})
