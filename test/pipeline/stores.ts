// Runs a suite on both stores: always on the embedded file, and on MongoDB if a server is available. Suites with another subject
// than the store run on one store per tier. Stops the suite's services afterwards.
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { lendDatabase, lendDatabaseToFile, mongoAvailable, takeBackDatabase } from "../mongodb-server.ts"
import { isDue } from "../tier.ts"

export type StartHost = (options?: TestHostOptions) => Promise<TestHost>

export interface Leg {
  readonly start: StartHost
  /** Returns settings that choose the store, with a new database each time. */
  readonly storage: () => Promise<Record<string, string>>
}

export function onBothStores(title: string, define: (leg: Leg) => void): void {
  describe(title, () => withHosts(undefined, define))
  onMongo(title, define)
}

/**
 * Runs on the embedded file in the first tier, on MongoDB in the slow tier, and on both elsewhere. For suites independent of the
 * store.
 */
export function onStoresInTurn(title: string, define: (leg: Leg) => void): void {
  if (isDue(true)) describe(title, () => withHosts(undefined, define))
  if (isDue(false)) onMongo(title, define)
}

/** Runs on MongoDB only: for suites that need several nodes. */
export function onMongo(title: string, define: (leg: Leg) => void): void {
  const run = mongoAvailable ? describe : describe.skip
  run(`${title} (mongodb)`, () => withHosts(mongo, define))
}

const urlVariable = "MILLRACE_STORAGE_URL"

/** Databases for services on MongoDB: reused from other suites, or new. */
const mongo = { lent: lendDatabase, own: lendDatabaseToFile }

function withHosts(databases: typeof mongo | undefined, define: (leg: Leg) => void): void {
  const running: TestHost[] = []
  const lent: string[] = []
  after(async () => {
    for (const host of running.reverse()) await host.stop()
    for (const url of lent) await takeBackDatabase(url)
  })
  define({
    storage: async () => (databases ? { [urlVariable]: await databases.own(), MILLRACE_SERVER_LEAVE_MS: "0" } : {}),
    async start(options = {}) {
      const url = options.env?.[urlVariable] === undefined ? await databases?.lent() : undefined
      if (url !== undefined) lent.push(url)
      const env = { ...options.env, ...(url === undefined ? {} : { [urlVariable]: url }) }
      const host = await testHost({ capture: false, ...options, env })
      running.push(host)
      return host
    },
  })
}
