// A service with a damaged, truncated, deleted or moved data file, as seen by senders and load balancers: 503 with the reason, or
// no start. The rest of the file is never overwritten.
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Bench, post } from "../pipeline/bench.ts"
import { until } from "../waiting.ts"
import { carryLogOver, scribbleOn } from "./damaging.ts"

const page = 8_192

describe("a service over a data file", () => {
  let folder: string
  let file: string
  let host: TestHost | undefined
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-damaged-service-"))
    file = join(folder, "data", "millrace.db")
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
  const make = (on: TestHost) => new Bench(on).make({ name: "Kept", pipeline: [{ type: "dataset.write", dataset_slug: "kept" }] })
  const ready = async ({ url }: TestHost) => {
    const answer = await fetch(`${url}/readyz`)
    const { details } = (await answer.json()) as { details?: { reason: string } }
    return [answer.status, details?.reason]
  }
  /** Returns the answer to an event at the address. */
  const sendTo = async (url: string) => {
    const { status, body } = await post(url, { text: "x".repeat(400) })
    return [status, body.details?.reason]
  }
  const scribble = (at: number, bytes: number) => scribbleOn(file, at, bytes)
  const refusal = () =>
    start().then(
      () => "started",
      (error: unknown) => (error as Error).message,
    )

  it("that is damaged while it runs answers 503 storage_corrupt, tells it once, and writes nothing more", async () => {
    const running = await start()
    const { inbound_url } = await make(running)
    for (let n = 0; n < 150; n++) expect((await post(inbound_url, { text: "x".repeat(4_000) })).status).to.equal(200)
    await carryLogOver(file)
    const pages = readFileSync(file).length / page
    scribble(40 * page, (pages - 50) * page)
    // A read encounters the damage.
    await until("the damage was met", async () => (await running.api("GET", "/v1/datasets/kept/rows?limit=200")).status === 503)
    // After the writer's current work.
    expect(await sendTo(inbound_url)).to.deep.equal([503, "storage_corrupt"])
    const bytes = readFileSync(`${file}-wal`)
    for (let n = 0; n < 5; n++) {
      expect(await ready(running)).to.deep.equal([503, "storage_corrupt"])
      expect(await sendTo(inbound_url)).to.deep.equal([503, "storage_corrupt"])
    }
    expect(readFileSync(`${file}-wal`).equals(bytes)).to.equal(true)
    expect(running.logged.filter((line) => line.includes('"level":60')).length).to.equal(1)
    expect((await fetch(`${running.url}/healthz`)).status).to.equal(200)
  })

  it("that is deleted while it runs answers 503 storage_missing, and makes no other", async () => {
    const running = await start()
    const { inbound_url } = await make(running)
    for (const name of readdirSync(join(folder, "data"))) {
      if (name.startsWith("millrace.db") && !name.endsWith(".lock")) rmSync(join(folder, "data", name))
    }
    for (let n = 0; n < 3; n++) {
      expect(await sendTo(inbound_url)).to.deep.equal([503, "storage_missing"])
      expect(await ready(running)).to.deep.equal([503, "storage_missing"])
    }
    await stop()
    expect(existsSync(file)).to.equal(false)
    expect(await refusal()).to.match(/millrace\.db is not there, but a store existed here: .*master\.key/)
    expect(existsSync(file)).to.equal(false)
  })

  it("whose folder is moved away answers 503 storage_missing until it is back, and then 200 by itself", async () => {
    const running = await start()
    const { inbound_url } = await make(running)
    renameSync(join(folder, "data"), join(folder, "moved"))
    expect(await sendTo(inbound_url)).to.deep.equal([503, "storage_missing"])
    expect(await ready(running)).to.deep.equal([503, "storage_missing"])
    renameSync(join(folder, "moved"), join(folder, "data"))
    expect(await ready(running)).to.deep.equal([200, undefined])
    expect(await sendTo(inbound_url)).to.deep.equal([200, undefined])
    expect((await new Bench(running).rows("kept")).length).to.equal(1)
  })

  it("that was damaged, cut short or emptied before does not start, says what to do, and leaves all as it is", async () => {
    await make(await start())
    await stop()
    const good = join(folder, "good")
    copyFileSync(file, good)
    const damages: readonly [what: RegExp, damage: () => void][] = [
      [/file is not a database/, () => scribble(0, 100)],
      [/it is damaged|malformed/, () => scribble(3 * page, 400)],
      [/cut short|malformed/, () => truncateSync(file, 5 * page)],
      [/is empty, but a store existed here/, () => truncateSync(file, 0)],
      [/is not there, but a store existed here/, () => rmSync(file)],
    ]
    for (const [what, damage] of damages) {
      copyFileSync(good, file)
      damage()
      const bytes = existsSync(file) ? readFileSync(file) : undefined
      const message = await refusal()
      expect(message).to.match(what).and.include(file).and.include("millrace restore FILE")
      expect(existsSync(file) ? readFileSync(file) : undefined, message).to.deep.equal(bytes)
    }
    copyFileSync(good, file)
    expect(await ready(await start())).to.deep.equal([200, undefined])
  })
})
