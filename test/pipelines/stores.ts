// Runs a suite on both stores: on the embedded file always, on MongoDB where a server can be had. What a suite starts is
// stopped after it.
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { mongoAvailable, sharedMongo } from "../mongodb-server.ts"

export type StartHost = (options?: TestHostOptions) => Promise<TestHost>

export interface Leg {
  readonly start: StartHost
  /** Settings that choose the store; a database of its own each time. */
  readonly storage: () => Promise<Record<string, string>>
}

export function onBothStores(title: string, define: (leg: Leg) => void): void {
  describe(title, () => withHosts(async () => ({}), define))
  const onMongo = mongoAvailable ? describe : describe.skip
  onMongo(`${title} (mongodb)`, () => withHosts(mongoStorage, define))
}

/** Suites that need several nodes: on MongoDB only. */
export function onMongo(title: string, define: (leg: Leg) => void): void {
  const run = mongoAvailable ? describe : describe.skip
  run(`${title} (mongodb)`, () => withHosts(mongoStorage, define))
}

async function mongoStorage(): Promise<Record<string, string>> {
  return { MILLRACE_STORAGE_URL: (await sharedMongo()).freshUrl() }
}

function withHosts(storage: Leg["storage"], define: (leg: Leg) => void): void {
  const running: TestHost[] = []
  after(async () => {
    for (const host of running.reverse()) await host.stop()
  })
  define({
    storage,
    async start(options = {}) {
      const host = await testHost({ capture: false, ...options, env: { ...(await storage()), ...options.env } })
      running.push(host)
      return host
    },
  })
}
