// Behaviour specific to S3: invalid settings fail at boot, an unreachable server is not fatal, and the secret is not disclosed.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type AppError, Settings } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { Buckets } from "../../../plugins/data/buckets/index.ts"
import { type S3Server, s3Available, startS3 } from "./s3-server.ts"
import { pluginSettings } from "./stores.ts"

const suite = s3Available ? describe : describe.skip

suite("bucket in s3", () => {
  let server: S3Server
  before(async () => {
    server = await startS3()
  })
  after(() => server.stop())

  const bootWith = (change: Record<string, unknown>) =>
    testHost({ env: pluginSettings({ buckets: { s3: { ...server.settings, ...change } } }) })

  it("takes its secret from a variable that the configuration names, and shows it nowhere", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-s3-config-"))
    const file = join(folder, "config.yaml")
    const s3 = { ...server.settings, secret_access_key: { from_env: "TEST_S3_SECRET" } }
    writeFileSync(file, JSON.stringify({ plugins: { settings: { buckets: { s3 } } } }))
    let host: TestHost | undefined
    try {
      host = await testHost({ env: { MILLRACE_CONFIG: file, TEST_S3_SECRET: server.secret, MILLRACE_LOG_LEVEL: "trace" } })
      const bucket = host.get(Buckets).open(host.organization.id)
      await bucket.put("a.png", Buffer.from("x"))
      const url = await bucket.signedUrl("a.png", Date.now() + 60_000)
      expect((await fetch(url)).status).to.equal(200)
      host.runtime.log.info({ settings: host.get(Settings).plugins.settings }, "logged by mistake")
      for (const text of [url, ...host.logged]) expect(text).not.to.contain(server.secret)
      expect(host.logged.join("\n")).to.contain("logged by mistake")
    } finally {
      await host?.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it("refuses to boot with a wrong secret or bucket, naming the settings and not the secret", async () => {
    for (const change of [{ secret_access_key: "wrong-SECRET-000" }, { bucket: "no-such-bucket" }]) {
      const error = await bootWith(change).then(
        () => expect.fail("booted"),
        (thrown: Error) => thrown,
      )
      expect(error.message).to.match(/could not be written to .*plugins\.settings\.buckets\.s3/)
      expect(error.message).not.to.contain("SECRET")
    }
  })

  it("boots while the server is down, says so, and refuses objects as unavailable without the secret", async () => {
    const host = await bootWith({ endpoint: "http://127.0.0.1:1" })
    try {
      expect(host.logged.some((line) => line.includes("could not be written to"))).to.equal(true)
      const error: AppError = await host
        .get(Buckets)
        .open(host.organization.id)
        .put("a.png", Buffer.from("x"))
        .then(
          () => expect.fail("stored"),
          (thrown: AppError) => thrown,
        )
      expect([error.code, error.details.reason]).to.deep.equal(["unavailable", "bucket_unavailable"])
      expect(JSON.stringify([error.message, error.details, error.cause ?? null, host.logged])).not.to.contain(server.secret)
    } finally {
      await host.stop()
    }
  })

  it("refuses settings that cannot hold, before anything is opened", async () => {
    const wrong: [Record<string, unknown>, RegExp][] = [
      [{ secret_access_key: undefined }, /come together/],
      [{ bucket: "Bad_Name" }, /name of a bucket/],
      [{ endpoint: "ftp://x" }, /Expected an http\(s\) URL/],
      [{ prefix: "no-slash" }, /end in \//],
    ]
    for (const [change, message] of wrong) {
      await bootWith(change).then(
        () => expect.fail("booted"),
        (error: Error) => expect(error.message).to.match(message),
      )
    }
  })
})
