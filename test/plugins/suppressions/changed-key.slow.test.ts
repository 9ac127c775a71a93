// The suppression list after a change of the master key: suppressions stay in force, and links in old mail still work.
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { testHost } from "#core/testing"
import { Mailer } from "../../../plugins/people/email/index.ts"
import { patiently } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { listenForMail } from "../email/mail-server.ts"

describe("suppressions and a changed master key", () => {
  it("hold back what they did, and take the links of mail that was sent before", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-suppressions-"))
    const mailbox = await listenForMail()
    const [first, second] = [randomBytes(32), randomBytes(32)].map((key) => key.toString("base64")) as [string, string]
    const start = (keys: Record<string, string>) =>
      testHost({ dataDir, capture: false, env: { ...keys, ...pluginSettings({ email: { transport: "smtp", url: mailbox.url } }) } })
    const message = (to: string, key: string) => ({ to, heading: "News", idempotencyKey: key, at: "2026-01-02T03:04:05.006Z" })
    try {
      const before = await start({ MILLRACE_MASTER_KEY: first })
      const organization = before.organization.id
      await patiently(() => before.api("POST", "/v1/suppressions", { address: "barred@example.com" }))
      await before.get(Mailer).send({ organization, category: "marketing", ...message("reader@example.com", "1") })
      const link = /\/v1\/unsubscribe\/[\w-]+/.exec(mailbox.received[0]?.mail.text ?? "")?.[0] ?? expect.fail("no link")
      await before.stop()

      const after = await start({ MILLRACE_MASTER_KEY: second, MILLRACE_RETIRED_MASTER_KEYS: first })
      const skipped = async (to: string) =>
        (await after.get(Mailer).send({ organization, category: "marketing", ...message(to, `to ${to}`) })).message_id === null
      expect(await skipped("Barred@example.com")).to.equal(true)
      expect(await skipped("reader@example.com")).to.equal(false)
      expect((await patiently(() => fetch(after.url + link, { method: "POST" }))).status).to.equal(200)
      expect(await skipped("reader@example.com")).to.equal(true)
      await after.stop()
    } finally {
      await mailbox.close()
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})
