// A store identifies its master key. A node with another key or without a key is refused at start. A command replaces the key,
// and may be interrupted.
import { randomBytes } from "node:crypto"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { AppError } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { frameworkRoot } from "../../core/bootstrap/runtime.ts"
import { Opened } from "../../core/bootstrap/storage.ts"
import { rotateMasterKey } from "../../core/cli/rotate-master-key.ts"
import { type CollectionSpec, Collections } from "../../core/contract/collection.ts"
import type { Clock } from "../../core/kernel/clock.ts"
import { loadConfig } from "../../core/kernel/config.ts"
import { createVault } from "../../core/kernel/vault.ts"
import { MasterKeysCollection, resealAll } from "../../core/storage/master-key.ts"
import type { StartedStore } from "../../core/storage/store.ts"
import { onBothStores } from "../pipeline/stores.ts"
import { ShiftedClock } from "../shifted-clock.ts"

interface Made {
  readonly slug: string
  readonly inbound_url: string
  readonly secret: string
}

onBothStores("master key of a store", ({ storage }) => {
  const quiet = { MILLRACE_LOG_LEVEL: "silent" }
  let folder: string
  let env: Record<string, string>
  let host: TestHost | undefined
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-master-key-"))
    env = { ...(await storage()), ...quiet }
  })
  afterEach(async () => {
    await host?.stop()
    host = undefined
    rmSync(folder, { recursive: true, force: true })
  })

  const start = async (more: Record<string, string> = {}, dataDir = folder, clock?: Clock) => {
    host = await testHost({ dataDir, env: { ...env, ...more }, ...(clock && { clock }) })
    return host
  }
  const stop = async () => {
    await host?.stop()
    host = undefined
  }
  const refusal = (more: Record<string, string> = {}, dataDir = folder) =>
    start(more, dataDir).then(
      () => "",
      (error: unknown) => {
        const existing = [error, (error as Error).cause].find((item) => item instanceof AppError)
        expect([existing?.code, existing?.details.reason]).to.deep.equal(["failed_precondition", "wrong_master_key"])
        return (error as Error).message
      },
    )
  const config = (more: Record<string, string> = {}) =>
    loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: { MILLRACE_DATA_DIR: folder, ...env, ...more } }).config
  const pipeline = async (name: string) => {
    const response = await host?.api<Made>("POST", "/v1/event-pipelines", { name, state: "active", pipeline: [] })
    if (response?.status !== 200) throw new Error(JSON.stringify(response))
    return response.body
  }
  /** The port differs after each start. */
  const takes = async ({ inbound_url, secret }: Made) =>
    (await host?.send({ inbound_url: inbound_url.replace(/^http:..[^/]+/, host.url) }, { n: 1 }, { secret }))?.status

  it("refuses a node with another key or with none, draws none and changes nothing; also where the store is older than the check", async () => {
    await start()
    const one = await pipeline("One")
    await stop()
    const key = readFileSync(join(folder, "master.key"), "utf8").trim()
    const other = randomBytes(32).toString("hex")
    const refused = async () => {
      const wrong = await refusal({ MILLRACE_MASTER_KEY: other })
      expect(wrong).to.match(/encrypted with the master key [0-9a-f]{16}, and MILLRACE_MASTER_KEY holds another/)
      expect(wrong).to.include("rotate-master-key").and.not.include(other)
      rmSync(join(folder, "master.key"), { force: true })
      expect(await refusal()).to.match(/this node has none: MILLRACE_MASTER_KEY is not set, and .*master\.key does not exist/)
      expect(existsSync(join(folder, "master.key"))).to.equal(false)
    }
    await refused()
    const older = await start({ MILLRACE_MASTER_KEY: key })
    expect(await takes(one)).to.be.below(300)
    const remove = { kind: "remove", collection: MasterKeysCollection, id: "keys" } as const
    await older.runtime.container.get(Opened).commit({ id: "older", writes: [remove] })
    await stop()
    await refused()
    await start({ MILLRACE_MASTER_KEY: key })
    expect(await takes(one)).to.be.below(300)
  })

  it("that a secret was not sealed under has its events refused aloud, and not asked for again", async () => {
    env = { ...env, MILLRACE_LOG_LEVEL: "error" }
    const clock = new ShiftedClock()
    const running = await start({}, folder, clock)
    // The next log line would follow after some time.
    clock.stand()
    const [one, second] = [await pipeline("One"), await pipeline("Two")]
    const sealed = createVault(randomBytes(32)).seal("lost", "elsewhere")
    const collection = running.runtime.registry.get(Collections, "event_pipelines") as CollectionSpec
    const { id } = await running.api<{ id: string }>("GET", "/v1/event-pipelines/one").then(({ body }) => body)
    const update = { $set: { "secrets.0.sealed": { ...sealed } } }
    const write = { kind: "update", collection, organization: running.organization.id, id, update } as const
    await running.runtime.container.get(Opened).commit({ id: "other-key", writes: [write] })
    for (let n = 0; n < 3; n++) {
      const { status, body, headers } = await running.send<{ code: string; details: { reason?: string } }>(one, {}, { secret: one.secret })
      const { code, details } = body
      expect([status, code, details.reason, headers.get("retry-after")]).to.deep.equal([500, "data_loss", "unreadable", null])
    }
    const lines = running.logged.filter((line) => line.includes("data that it needs is lost"))
    expect(lines.length).to.equal(1)
    expect(lines[0]).to.include(sealed.key_id)
    expect(await takes(second)).to.be.below(300)
  })

  it("replaces the key in the data folder, also one that an interruption left half replaced", async () => {
    await start()
    const pipelines = [await pipeline("One"), await pipeline("Two"), await pipeline("Three")]
    const before = readFileSync(join(folder, "master.key"), "utf8")
    await stop()
    expect(await rotateMasterKey(config())).to.match(/^[3-9] of [3-9] secrets were re-encrypted/)
    const after = readFileSync(join(folder, "master.key"), "utf8")
    expect(after).to.not.equal(before)
    expect(await refusal({ MILLRACE_MASTER_KEY: before.trim() })).to.include("holds another")
    await start()
    for (const sample of pipelines) expect(await takes(sample)).to.be.below(300)
  })

  it("is replaced by another configured one, from where an interruption left it", async () => {
    const [old, next] = [randomBytes(32), randomBytes(32)]
    const both = { MILLRACE_MASTER_KEY: next.toString("base64"), MILLRACE_RETIRED_MASTER_KEYS: old.toString("base64") }
    await start({ MILLRACE_MASTER_KEY: old.toString("base64") })
    const pipelines = [await pipeline("One"), await pipeline("Two"), await pipeline("Three")]
    await stop()

    // A node with both keys works while secrets are sealed under either.
    await start(both)
    const opened = (host as TestHost).runtime.container.get(Opened)
    expect(await resealAll(failingAfter(opened, 2), createVault(next, [old])).catch((error: Error) => error.message)).to.equal("killed")
    pipelines.push(await pipeline("Four"))
    for (const sample of pipelines) expect(await takes(sample)).to.be.below(300)
    await stop()
    // A node with only the old key could not open the new secrets.
    expect(await refusal({ MILLRACE_MASTER_KEY: old.toString("base64") })).to.include("holds another")

    expect(await rotateMasterKey(config(both))).to.match(/^[1-9]\d* of [4-9] secrets were re-encrypted/)
    expect(await rotateMasterKey(config(both))).to.match(/^0 of [4-9]/)
    await start({ MILLRACE_MASTER_KEY: next.toString("base64") })
    for (const sample of pipelines) expect(await takes(sample)).to.be.below(300)
  })

  it("has nothing replaced without an old and a new key", async () => {
    const failure = (more: Record<string, string>) => rotateMasterKey(config(more)).catch((error: Error) => error.message)
    expect(await failure({})).to.include("The master key to replace is missing")
    expect(await failure({ MILLRACE_MASTER_KEY: randomBytes(32).toString("hex") })).to.include("MILLRACE_RETIRED_MASTER_KEYS")
  })
})

/** A store whose process dies after this many commits. */
function failingAfter(store: StartedStore, commits: number): StartedStore {
  let remainingCommits = commits
  return new Proxy(store, {
    get(target, name) {
      if (name === "commit") return remainingCommits-- > 0 ? target.commit.bind(target) : () => Promise.reject(new Error("killed"))
      return Reflect.get(target, name) as unknown
    },
  })
}
