// Before any test: chai shows expected and actual values in full. After the tests of each file (a worker runs one at a
// time): what modules have asked for, and the file's time.
import { config } from "chai"
import { recordTime } from "./times.ts"

config.truncateThreshold = 0

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
