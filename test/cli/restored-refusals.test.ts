// Refusals of people after a backup remain valid once that backup is restored.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { OptOuts } from "../../plugins/people/conversations/opt-out/ledger.ts"
import { runMillrace } from "./command-line.ts"

const erased = { email: "erased@example.com" }
const withdrawn = { email: "withdrawn@example.com" }
const suppressed = { email: "suppressed@example.com" }
const number = "+493098765432"

describe("millrace restore and refusals after the backup", () => {
  let folder: string
  let host: TestHost | undefined
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-refusals-"))
  })
  afterEach(async () => {
    await host?.stop()
    host = undefined
    rmSync(folder, { recursive: true, force: true })
  })

  const start = async () => {
    host = await testHost({ dataDir: join(folder, "data") })
    return host
  }
  const stop = async () => {
    await host?.stop()
    host = undefined
  }
  const command = (...args: string[]) => runMillrace(args, { env: { MILLRACE_DATA_DIR: join(folder, "data") } })
  const consent = { channel: "email", purpose: "marketing", source: "form", wording: "Yes." }

  async function refuse(running: TestHost): Promise<void> {
    await running.invoke("consents.erase", { ...erased, reason: "test" })
    await running.invoke("consents.record", { ...consent, ...withdrawn, kind: "withdrawn" })
    await running.invoke("suppressions.add", { address: suppressed.email })
    await running.invoke("opt_outs.record", { channel: "sms", address: number, wording: "STOP" })
  }

  const isAllowed = async (running: TestHost, person: object) =>
    (await running.invoke<{ allowed: boolean }>("consents.check", { ...person, channel: "email", purpose: "marketing" })).allowed
  const optedOut = (running: TestHost) => running.get(OptOuts).suppressed(running.organization.id, "sms", [number])

  it("keeps erasures, withdrawn consents, suppressions and opt-outs of the replaced store", async () => {
    const before = await start()
    await before.invoke("consents.record", { ...consent, ...withdrawn, kind: "given" })
    await command("backup", join(folder, "copy.db"))
    await refuse(before)
    await stop()
    const { code, out } = await command("restore", join(folder, "copy.db"))
    expect(code).to.equal(0)
    expect(out)
      .to.match(/Taken over from the replaced store: \d+ erasures/)
      .and.match(/from \d{4}-\S+Z to \d{4}-\S+Z/)
    const after = await start()
    for (const person of [erased, withdrawn, suppressed]) expect(await isAllowed(after, person), JSON.stringify(person)).to.equal(false)
    expect(await isAllowed(after, { email: "other@example.com" })).to.equal(true)
    expect([...(await optedOut(after))]).to.deep.equal([number])
    await after.invoke("suppressions.add", { address: "later@example.com" })
  })

  it("warns with the span of time if the replaced store cannot be read", async () => {
    const before = await start()
    await command("backup", join(folder, "copy.db"))
    await refuse(before)
    await stop()
    writeFileSync(join(folder, "data", "millrace.db"), "x".repeat(20_000))
    const { code, out } = await command("restore", join(folder, "copy.db"))
    expect(code).to.equal(0)
    expect(out).to.match(/Warning: the replaced store is missing or cannot be read\. .* from \d{4}-\S+Z to \d{4}-\S+Z are lost/)
    expect(await isAllowed(await start(), erased)).to.equal(true)
  })
})
