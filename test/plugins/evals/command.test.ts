// `millrace evals run` for build servers: exit codes, text output, and JUnit.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { CommandProblem } from "#core"
import { runMillrace } from "../../cli/command-line.ts"
import { failureOf } from "../../refusal.ts"
import { bySight, EvalBench } from "./bench.ts"

describe("millrace evals run", () => {
  let bench: EvalBench
  let folder = ""
  before(async () => {
    bench = await EvalBench.open()
    bench.judge.answer(bySight)
    folder = mkdtempSync(join(tmpdir(), "millrace-evals-"))
  })
  after(async () => {
    rmSync(folder, { recursive: true, force: true })
    await bench.close()
  })

  const run = (...args: string[]) => {
    const env = { MILLRACE_URL: bench.host.url, MILLRACE_KEY: bench.host.adminKey, MILLRACE_DATA_DIR: folder }
    return runMillrace(["evals", "run", ...args], { env })
  }
  const junit = () => readFileSync(join(folder, "out.xml"), "utf8")

  it("ends with 0 where the suite passes", async () => {
    bench.agent.answer(() => "It is right.")
    const suite = await bench.suite("green", ["one", "two"])
    const { code, out } = await run(suite, "--repeats", "2", "--junit", join(folder, "out.xml"))
    expect(code, out).to.equal(0)
    expect(out)
      .to.match(/new +one +/)
      .and.include("passed: The score is 100 %")
    expect(junit()).to.match(/<testsuites tests="3" failures="0" errors="0" skipped="0">/)
    expect(junit()).to.include('<testcase name="one" classname="green"/>')
  })

  it("ends with 1 where it fails, and says of which cases", async () => {
    bench.agent.answer(({ input }) => (input.includes("one") ? "Wrong <&\u0000>." : "It is right."))
    const suite = await bench.suite("red", ["!one", "two"], { pass_threshold: 20 })
    const { code, out } = await run(suite, "--repeats", "1", "--junit", join(folder, "out.xml"), "--json")
    expect(code).to.equal(1)
    expect(JSON.parse(out)).to.deep.include({ verdict: "failed", red: ["one"] })
    expect(junit()).to.match(/<testsuite name="red" tests="3" failures="2" errors="0" time="[\d.]+">/)
    expect(junit()).to.match(
      /<testcase name="one" classname="red"><failure message="Critical, and 1 of 1 answers failed\.">red: 0 passed, 1 failed/,
    )
    expect(junit()).to.match(/<testcase name="verdict" classname="red"><failure message="Red: one\.">/)
  })

  it("ends with 2 without a verdict, which is an error and no failure", async () => {
    bench.judge.answer(() => ({ declines: "No." }))
    const suite = await bench.suite("undecided", ["one"])
    const { code, out } = await run(suite, "--repeats", "1", "--junit", join(folder, "out.xml"))
    bench.judge.answer(bySight)
    expect(code).to.equal(2)
    expect(out).to.include("no_verdict: No answer could be judged.")
    expect(junit()).to.match(/<testsuites tests="2" failures="0" errors="2" skipped="0">/)
  })

  it("says what is wrong with the command line, the key or the suite, by the exit codes of every command", async () => {
    expect((await problemOf(run("nowhere"))).exitCode).to.equal(4)
    expect((await problemOf(run("green", "--repeats", "many"))).message).to.include('"many"')
    expect((await problemOf(run("green", "--repeats", "21"))).exitCode).to.equal(2)
  })
})

async function problemOf(ran: Promise<unknown>): Promise<CommandProblem> {
  const problem = await failureOf(ran)
  if (problem instanceof CommandProblem) return problem
  throw problem
}
