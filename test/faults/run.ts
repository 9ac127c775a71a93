// Runs the test of each seeded fault in one process, with the fault and without it. Prints one JSON line per fault.
// Arguments: numbers of the faults; default: all. Runs without faults come last: they also prove that a test can run twice.
import { join } from "node:path"
import Mocha from "mocha"
import { projectRoot } from "../import-graph.ts"
import { arm } from "./arming.ts"
import type { Fault } from "./fault.ts"
import { faults } from "./faults.ts"

export interface Outcome {
  readonly number: number
  readonly withFault: Counts
  readonly without: Counts
}

interface Counts {
  readonly passed: number
  /** Failures of tests. */
  readonly failed: readonly string[]
  /** Failures of hooks. They do not prove that the test notices a fault. */
  readonly broken: readonly string[]
}

/** Variable of waiting.ts. With a fault, a test waits in vain. */
const waitVariable = "MILLRACE_TEST_WAIT_MS"
const faultyMs = 5_000
// Without a tier, a test file runs all its cases.
delete process.env["MILLRACE_TEST_TIER"]
process.chdir(projectRoot)
const numbers = process.argv.slice(2).map(Number)
const chosen = faults.filter((_, number) => numbers.length === 0 || numbers.includes(number))
const activate = arm(chosen)
const { mochaHooks } = await import("../setup.ts")
const mocha = new Mocha({ timeout: 120_000, reporter: Mocha.reporters.Base, rootHooks: mochaHooks })
for (const file of new Set(chosen.map(({ test }) => test))) mocha.addFile(join(projectRoot, file))
mocha.cleanReferencesAfterRun(false)
await mocha.loadFilesAsync()

const faulty: Counts[] = []
for (const fault of chosen) {
  activate(fault)
  process.env[waitVariable] = String(faultyMs)
  faulty.push(await testOf(fault))
}
activate(undefined)
delete process.env[waitVariable]
const sound = new Map<string, Counts>()
for (const [index, fault] of chosen.entries()) {
  const key = `${fault.test} ${fault.title}`
  const without = sound.get(key) ?? (await testOf(fault))
  sound.set(key, without)
  const outcome: Outcome = { number: faults.indexOf(fault), withFault: faulty[index] as Counts, without }
  console.log(JSON.stringify(outcome))
}
process.exit(0)

/** Returns a title as a regular expression. */
function escaped(title: string): string {
  return title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
}

async function testOf({ test, title }: Fault): Promise<Counts> {
  mocha.grep(new RegExp(`^${escaped(title)}$`))
  const counts = { passed: 0, failed: [] as string[], broken: [] as string[] }
  const file = join(projectRoot, test)
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => resolve())
    runner.on("pass", (passed) => {
      if (passed.file === file) counts.passed++
    })
    runner.on("fail", (failed, error: Error) => {
      const message = `${failed.fullTitle()}: ${error.message.slice(0, 1_000)}`
      if (failed.type === "test" && failed.file === file) counts.failed.push(message)
      else counts.broken.push(message)
    })
  })
  return counts
}
