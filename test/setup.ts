// Before any test: chai shows expected and actual values in full, and properties draw their inputs from one seed, another
// where MILLRACE_TEST_SEED names one. After the tests of each file (a worker runs one at a time): what modules have asked
// for, and the file's time.
import { config } from "chai"
import fc from "fast-check"
import { recordTime } from "./times.ts"

config.truncateThreshold = 0
fc.configureGlobal({ seed: Number(process.env["MILLRACE_TEST_SEED"] ?? 20_260_929) })

const endings: (() => Promise<unknown>)[] = []

export function afterTests(ending: () => Promise<unknown>): void {
  endings.push(ending)
}

export const mochaHooks = {
  async afterAll(this: Mocha.Context) {
    for (const ending of endings) await ending()
    const file = this.test?.parent?.suites[0]?.file
    if (file !== undefined) recordTime(file)
  },
}
