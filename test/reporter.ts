// Prints mocha's dots and each failure at once, then the most expensive files, skipped tests and counts per leg (embedded store,
// MongoDB) and in total. A run fails if it executed no tests, skipped a test missing from the list in
// MILLRACE_TEST_ALLOWED_SKIPS, or counted other failures than mocha.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import Mocha from "mocha"
import { type FileTime, readTimes, timesVariable } from "./times.ts"

const { EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_TEST_PENDING } = Mocha.Runner.constants

const maxCostliest = 15
/** Seconds of one core. */
const maxAreaSeconds = 15
/** Titles per file with skipped tests, without a list of allowed skips. */
const maxTitles = 3

export default class Counting extends Mocha.reporters.Dot {
  readonly #legs = { mongodb: { passed: 0, failed: 0 }, embedded: { passed: 0, failed: 0 } }
  readonly #skipped = new Map<string, string[]>()
  readonly #timesFolder = mkdtempSync(join(tmpdir(), "millrace-test-times-"))

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options)
    // Set before mocha starts its workers, so they inherit it.
    process.env[timesVariable] = join(this.#timesFolder, "times")
    runner.on(EVENT_TEST_PASS, (test) => this.#legOf(test).passed++)
    runner.on(EVENT_TEST_FAIL, (test, error) => {
      this.#legOf(test).failed++
      // Printed at once, so an interrupted run has reported its findings.
      console.log(`\n  failed: ${test.fullTitle()}: ${error.message.split("\n", 1)[0]}`)
    })
    runner.on(EVENT_TEST_PENDING, (test) => {
      const file = relative(process.cwd(), test.file ?? "")
      this.#skipped.set(file, [...(this.#skipped.get(file) ?? []), test.fullTitle()])
    })
  }

  /** Called last by mocha, with its own count of failures. The value passed to `end` becomes the exit code. */
  override done(counted: number, end: (failures: number) => void): void {
    const { mongodb, embedded } = this.#legs
    const [passed, failures] = [mongodb.passed + embedded.passed, mongodb.failed + embedded.failed]
    printCostliest(join(this.#timesFolder, "times"))
    rmSync(this.#timesFolder, { recursive: true, force: true })
    const refused = printSkipped(this.#skipped)
    if (counted !== failures) {
      console.log(
        `mocha counts ${counted} failed where ${failures} failures were reported: a file without any test, or a worker that died.`,
      )
    }
    const failed = Math.max(counted, failures) + refused
    console.log(`embedded: ${embedded.passed} passed, ${embedded.failed} failed`)
    console.log(`mongodb: ${mongodb.passed} passed, ${mongodb.failed} failed`)
    console.log(`${passed} passed, ${failed} failed`)
    end(passed === 0 ? Math.max(1, failed) : failed)
  }

  #legOf(test: Mocha.Runnable): { passed: number; failed: number } {
    return /\bmongodb\b/i.test(test.titlePath().join(" ")) ? this.#legs.mongodb : this.#legs.embedded
  }
}

function printCostliest(path: string): void {
  const times = readTimes(path)
  if (times.length === 0) return
  const sum = (of: "seconds" | "cpuSeconds") => times.reduce((total, time) => total + time[of], 0).toFixed(0)
  console.log(
    `costliest files, seconds of the processor, child processes included (and of a worker): ${sum("cpuSeconds")} (${sum("seconds")}) in all`,
  )
  for (const { file, seconds, cpuSeconds } of times.slice(0, maxCostliest))
    console.log(`  ${cpuSeconds.toFixed(1)} (${seconds.toFixed(1)}) ${file}`)
  if (process.env["MILLRACE_TEST_TIER"] === "fast") printAreas(times)
}

/** Prints areas of the fast tier over their limit (README.md). */
function printAreas(times: readonly FileTime[]): void {
  const areas = new Map<string, number>()
  for (const { file, cpuSeconds } of times) areas.set(dirname(file), (areas.get(dirname(file)) ?? 0) + cpuSeconds)
  const costly = [...areas].filter(([, seconds]) => seconds > maxAreaSeconds).sort(([, a], [, b]) => b - a)
  if (costly.length > 0)
    console.log(`areas over ${maxAreaSeconds}: ${costly.map(([area, seconds]) => `${area} ${seconds.toFixed(1)}`).join(", ")}`)
}

/** Returns the number of skipped tests missing from the list of allowed skips; 0 without a list. */
function printSkipped(skipped: ReadonlyMap<string, readonly string[]>): number {
  const allowedSkips = process.env["MILLRACE_TEST_ALLOWED_SKIPS"]
  if (allowedSkips !== undefined && !existsSync(allowedSkips))
    throw new Error(`MILLRACE_TEST_ALLOWED_SKIPS names ${allowedSkips}, which does not exist.`)
  const allowed = allowedSkips === undefined ? undefined : new Set(readFileSync(allowedSkips, "utf8").split("\n"))
  let refused = 0
  for (const [file, titles] of [...skipped].sort()) {
    console.log(`skipped: ${titles.length} of ${file}`)
    const visibleTitles = allowed ? titles : titles.slice(0, maxTitles)
    for (const title of visibleTitles) {
      const isRefused = allowed !== undefined && !allowed.has(title)
      if (isRefused) refused++
      console.log(`  ${title}${isRefused ? ` (not listed in ${allowedSkips})` : ""}`)
    }
    if (visibleTitles.length < titles.length) console.log(`  and ${titles.length - visibleTitles.length} more`)
  }
  return refused
}
