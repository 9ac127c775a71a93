// Runs a suite on both kinds of bucket: always on the folder, and on S3 if a server is available.
import { type TestHost, testHost } from "#core/testing"
import { type S3Server, s3Available, startS3 } from "./s3-server.ts"

export interface BucketLeg {
  readonly kind: "folder" | "s3"
  /** Starts a service with objects in this bucket. It is stopped after the suite. */
  start(settings?: Readonly<Record<string, unknown>>, env?: Readonly<Record<string, string>>): Promise<TestHost>
}

export function onBothBuckets(title: string, define: (leg: BucketLeg) => void): void {
  describe(`${title} (folder)`, () => define(leg("folder", () => ({}))))
  const onS3 = s3Available ? describe : describe.skip
  onS3(`${title} (s3)`, () => {
    let server: S3Server | undefined
    before(async () => {
      server = await startS3()
    })
    define(leg("s3", () => ({ s3: server?.settings })))
    after(async () => {
      await server?.stop()
    })
  })
}

/** Returns plugin settings as an environment variable. */
export function pluginSettings(settings: Readonly<Record<string, unknown>>): Record<string, string> {
  return { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) }
}

function leg(kind: BucketLeg["kind"], buckets: () => Record<string, unknown>): BucketLeg {
  const running: TestHost[] = []
  after(async () => {
    for (const host of running) await host.stop()
  })
  return {
    kind,
    async start(settings = {}, env = {}) {
      const own = { ...buckets(), ...(settings["buckets"] as object | undefined) }
      const host = await testHost({ env: { ...pluginSettings({ ...settings, buckets: own }), ...env } })
      running.push(host)
      return host
    },
  }
}
