// Before all tests: chai shows expected and actual values in full, and properties draw inputs from one seed (MILLRACE_TEST_SEED
// overrides it). Processes of shared sandboxes and threads of stores outlive services and commands. After the tests of each file
// (a worker runs one file at a time): runs registered endings, and records the file's time and its retries after a 503.
import "../core/compile-cache.js"
import { basename } from "node:path"
import { config } from "chai"
import fc from "fast-check"
import { keepSharedSandboxes } from "../core/pipeline/sandbox/shared-sandbox.ts"
import { keepStoreThreads } from "../core/storage/sqlite/thread.ts"
import { seed } from "./tier.ts"
import { recordTime } from "./times.ts"
import { takeAskedAgain } from "./waiting.ts"

config.truncateThreshold = 0
fc.configureGlobal({ seed })
keepSharedSandboxes()
await keepStoreThreads(true)

const endings: (() => Promise<unknown>)[] = []

export function afterTests(ending: () => Promise<unknown>): void {
  endings.push(ending)
}

/** Rejections without a handler. Mocha ignores them; here they fail the current test. */
const rejections: unknown[] = []
const collectRejection = (reason: unknown) => void rejections.push(reason)

function failOnRejection(): void {
  const [reason] = rejections.splice(0)
  if (reason !== undefined)
    throw reason instanceof Error ? reason : new Error(`A promise was rejected without a handler: ${String(reason)}`)
}

export const mochaHooks = {
  beforeAll() {
    // Mocha's workers remove all listeners after each file.
    if (!process.listeners("unhandledRejection").includes(collectRejection)) process.on("unhandledRejection", collectRejection)
  },
  afterEach: failOnRejection,
  async afterAll(this: Mocha.Context) {
    for (const ending of endings) await ending()
    failOnRejection()
    const file = this.test?.parent?.suites[0]?.file
    if (file === undefined) return
    const askedAgain = takeAskedAgain()
    if (askedAgain > 0) console.log(`\n  asked again after 503: ${askedAgain} times in ${basename(file)}`)
    recordTime(file)
  },
}
