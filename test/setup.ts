// Before any test: what was expected and what came is shown whole, however long. After all, or, where several processes
// run them, after those of each file: what modules have asked for.
import { config } from "chai"

config.truncateThreshold = 0

const endings: (() => Promise<unknown>)[] = []

export function afterTests(ending: () => Promise<unknown>): void {
  endings.push(ending)
}

export const mochaHooks = {
  async afterAll() {
    for (const ending of endings) await ending()
  },
}
