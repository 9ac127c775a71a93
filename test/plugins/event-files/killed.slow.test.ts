// Services killed while files of forms are stored and removed: each object has its document, and the quota is the sum.
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { Store } from "#core"
import { testHost } from "#core/testing"
import { apiOf, freshFolder, startService } from "../../crash/service-process.ts"
import { isSoak } from "../../tier.ts"
import { untilProcess as until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"

const rounds = isSoak ? 12 : 3
const uploads = 40
const bytes = 30_000
const clock = new URL("./clock-ahead.ts", import.meta.url).href

interface StoredEventFiles {
  readonly id: string
  readonly state?: string
  readonly files: readonly { readonly key: string }[]
}

describe("files of forms in services that are killed", () => {
  const folder = freshFolder()
  after(() => folder.remove())

  const env = { MILLRACE_RETENTION_PAYLOADS_DAYS: "1" }
  const begin = (hoursAhead = 0) =>
    startService({ dataDir: folder.path, env: { ...env, HOURS_AHEAD: String(hoursAhead) }, faults: [clock] })

  /** Keys of all objects. */
  function objects(): string[] {
    const buckets = join(folder.path, "buckets")
    if (!existsSync(buckets)) return []
    const names = readdirSync(buckets, { recursive: true }).map(String)
    return names.filter((name) => name.endsWith(".bin")).map((name) => name.slice(name.indexOf("/") + 1))
  }

  /** Sends a form with a file. Returns the execution if the service acknowledged it. */
  async function send(url: string): Promise<string | undefined> {
    const form = new FormData()
    form.set("cv", new File([new Uint8Array(bytes)], "cv.pdf"))
    try {
      const answer = await fetch(url, { method: "POST", body: form })
      return answer.ok ? ((await answer.json()) as { execution_id: string }).execution_id : undefined
    } catch {
      return undefined
    }
  }

  /**
   * Returns the documents of the stopped service after this many hours, once no other document is due. The bytes in use are their
   * sum.
   */
  async function documents(
    hours = 0,
    isDone: (remaining: readonly StoredEventFiles[]) => boolean = () => true,
  ): Promise<StoredEventFiles[]> {
    const host = await testHost({ dataDir: folder.path, env })
    try {
      const store = host.runtime.container.get(Store)
      const find = () =>
        store.open(collectionNamed<StoredEventFiles>(host, "event_files"), host.organization.id).find({}, { limit: 10_000 })
      for (let hour = 0; hour < hours; hour++) host.clock.move(3_600_000)
      const remaining = await until("the end of what is due", async () => {
        const matches = await find()
        if (isDone(matches)) return matches
        // A killed service's job runs again after its lease.
        host.clock.move(1_000)
        return undefined
      })
      const used = await store
        .open(collectionNamed<{ bytes: number }>(host, "event_file_usage"), host.organization.id)
        .get(host.organization.id)
      expect(used?.bytes ?? 0).to.equal(remaining.length * bytes)
      expect(remaining.flatMap(({ files }) => files.map(({ key }) => key))).to.include.members(objects())
      return remaining
    } finally {
      await host.stop()
    }
  }

  /** Kills a service once its removals leave this number of objects. */
  async function removedTo(count: number, hoursAhead: number): Promise<void> {
    const service = await begin(hoursAhead)
    try {
      await until(`${count} objects`, () => objects().length <= count, { everyMs: 1 })
    } finally {
      await service.kill()
    }
  }

  it("are there if they were acknowledged; the others, and later all, go with their bytes", async () => {
    let service = await begin()
    const pipeline = await apiOf(service, folder.path)<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: "Jobs",
      accept_files: true,
    })
    const path = new URL(pipeline.inbound_url).pathname
    const acknowledged: string[] = []
    for (let round = 1; round <= rounds; round++) {
      let kill: Promise<void> | undefined
      const { url } = service
      await Promise.all(
        Array.from({ length: uploads }, async () => {
          const id = await send(url + path)
          if (id !== undefined) acknowledged.push(id)
          if (acknowledged.length >= 5 * round) kill ??= service.kill()
        }),
      )
      await (kill ?? service.kill())
      if (round < rounds) service = await begin()
    }
    const retained = await documents()
    const stored = retained.filter(({ state }) => state === "stored")
    expect(stored.map(({ id }) => id)).to.include.members(acknowledged)
    const keys = stored.flatMap(({ files }) => files.map(({ key }) => key))
    expect(objects()).to.include.members(keys)

    await documents(2, (remaining) => remaining.length === stored.length)
    expect(objects()).to.have.members(keys)

    for (const part of [0.7, 0.3]) {
      await removedTo(Math.floor(keys.length * part), 26)
      await documents()
    }
    await documents(26, (remaining) => remaining.length === 0)
    expect(objects()).to.deep.equal([])
  })
})
