// Runs a suite on both stores: on the embedded file always, on MongoDB where a server can be had. What a suite starts is
// stopped after it.
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { lendDatabase, lendDatabaseToFile, mongoAvailable, takeBackDatabase } from "../mongodb-server.ts"

export type StartHost = (options?: TestHostOptions) => Promise<TestHost>

export interface Leg {
  readonly start: StartHost
  /** Settings that choose the store; a database of its own each time. */
  readonly storage: () => Promise<Record<string, string>>
}

export function onBothStores(title: string, define: (leg: Leg) => void): void {
  describe(title, () => withHosts(undefined, define))
  const onMongo = mongoAvailable ? describe : describe.skip
  onMongo(`${title} (mongodb)`, () => withHosts(mongo, define))
}

/** Suites that need several nodes: on MongoDB only. */
export function onMongo(title: string, define: (leg: Leg) => void): void {
  const run = mongoAvailable ? describe : describe.skip
  run(`${title} (mongodb)`, () => withHosts(mongo, define))
}

const urlVariable = "MILLRACE_STORAGE_URL"

/** Where services of MongoDB keep their data: in databases that other suites had before, or in new ones. */
const mongo = { lent: lendDatabase, own: lendDatabaseToFile }

function withHosts(databases: typeof mongo | undefined, define: (leg: Leg) => void): void {
  const running: TestHost[] = []
  const lent: string[] = []
  after(async () => {
    for (const host of running.reverse()) await host.stop()
    for (const url of lent) await takeBackDatabase(url)
  })
  define({
    storage: async () => (databases ? { [urlVariable]: await databases.own() } : {}),
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
