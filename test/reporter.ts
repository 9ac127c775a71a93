// Mocha's dots, what fails as it fails, then the files that took longest and the counts: of each leg (the
// embedded store, MongoDB), and of the whole on a line of its own.
// A run in which nothing was executed fails.
import { relative } from "node:path"
import Mocha from "mocha"

const { EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_TEST_END, EVENT_RUN_END } = Mocha.Runner.constants

const shown = 10

export default class Counting extends Mocha.reporters.Dot {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options)
    const legs = { mongodb: { passed: 0, failed: 0 }, embedded: { passed: 0, failed: 0 } }
    const legOf = (test: Mocha.Runnable) => (/\bmongodb\b/i.test(test.titlePath().join(" ")) ? legs.mongodb : legs.embedded)
    runner.on(EVENT_TEST_PASS, (test) => legOf(test).passed++)
    runner.on(EVENT_TEST_FAIL, (test, error) => {
      legOf(test).failed++
      // At once: a run that is broken off has told what it found.
      console.log(`\n  failed: ${test.fullTitle()}: ${error.message.split("\n", 1)[0]}`)
    })
    // Of the tests alone, without what their suites prepare: of that nothing is told where files are run by several processes.
    const seconds = new Map<string, number>()
    runner.on(EVENT_TEST_END, ({ file, duration }) => {
      const name = relative(process.cwd(), file ?? "")
      seconds.set(name, (seconds.get(name) ?? 0) + (duration ?? 0) / 1_000)
    })
    runner.on(EVENT_RUN_END, () => {
      const slowest = [...seconds].sort(([, a], [, b]) => b - a).slice(0, shown)
      console.log(`slowest: ${slowest.map(([file, taken]) => `${file} ${taken.toFixed(0)} s`).join(", ")}`)
      const { mongodb, embedded } = legs
      const passed = mongodb.passed + embedded.passed
      console.log(`embedded: ${embedded.passed} passed, ${embedded.failed} failed`)
      console.log(`mongodb: ${mongodb.passed} passed, ${mongodb.failed} failed`)
      console.log(`${passed} passed, ${mongodb.failed + embedded.failed} failed`)
      if (passed === 0) process.exitCode = 1
    })
  }
}
