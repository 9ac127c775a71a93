// Personal data in the journal ends with its payload: what lies on disk before and after, read past the service.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect } from "chai"
import { MongoClient } from "mongodb"
import type { TestHost } from "#core/testing"
import { JobCollection } from "../../core/jobs/jobs-collection.ts"
import { EntryCollection, PayloadCollection } from "../../core/pipeline/journal/collections.ts"
import { patiently, until } from "../waiting.ts"
import { Bench, type Entry, type Made, post } from "./bench.ts"
import { onBothStores } from "./stores.ts"

const dayMs = 86_400_000
const journal = [EntryCollection.name, PayloadCollection.name]

/** Every document of these collections as it lies in the store. */
async function raw(host: TestHost, env: Record<string, string>, collections: readonly string[]): Promise<string> {
  const url = env["MILLRACE_STORAGE_URL"]
  if (url === undefined) {
    const database = new DatabaseSync(join(host.dataDir, "millrace.db"), { readOnly: true })
    try {
      return collections
        .flatMap((name) =>
          database
            .prepare(`SELECT * FROM "${name}"`)
            .all()
            .map((row) => Object.values(row).join("\n")),
        )
        .join("\n")
    } finally {
      database.close()
    }
  }
  const client = await new MongoClient(url).connect()
  try {
    const found = await Promise.all(collections.map((name) => client.db().collection(name).find().toArray()))
    return found
      .flat()
      .map((document) => JSON.stringify(document))
      .join("\n")
  } finally {
    await client.close()
  }
}

const document = {
  name: "Personal",
  transform_js: "function transform(event) { return { shouted: event.name.toUpperCase() } }",
  pipeline: [
    { id: "save", type: "dataset.write", dataset_slug: "people", row: { n: 1 } },
    { type: "respond", status: 201, body: { hello: "{{ event.shouted }}" } },
  ],
}
/** The second has a field that is cut in previews, so that its payload lies apart. */
const bodies = [{ name: "Lovelace" }, { name: "Lovelace", password: "Lovelace" }]
const traces = /lovelace/i

onBothStores("what the journal holds of an event", ({ start, storage }) => {
  let dataDir: string
  let env: Record<string, string>

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "millrace-erasure-"))
    env = await storage()
  })
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

  const begin = (days: number) => start({ dataDir, env: { ...env, MILLRACE_RETENTION_PAYLOADS_DAYS: String(days) } })
  /** A pipeline that has taken the events of both bodies. */
  const filled = async (host: TestHost) => {
    const { body } = await patiently(() => new Bench(host).save(document))
    const { inbound_url } = body as unknown as Made
    for (const one of bodies) expect((await patiently(() => post(inbound_url, one))).body).to.deep.equal({ hello: "LOVELACE" })
    return inbound_url
  }
  const executions = "/v1/event-pipelines/personal/executions"
  /** A node that missed a day asks for a moment to catch up. */
  const call = <T>(host: TestHost, method: string, path: string) => patiently(() => host.api<T>(method, path))
  const entries = async (host: TestHost) => (await call<{ executions: Entry[] }>(host, "GET", executions)).body.executions
  /** A look at the journal may have begun before time was moved: the next one comes ten minutes later. */
  const erased = (host: TestHost) => {
    const look = async () => {
      host.clock.move(600_000)
      return !traces.test(await raw(host, env, journal))
    }
    return until("the erasure", look, { everyMs: 500 })
  }

  it("leaves the disk when its payload does, and the story of the event stays", async () => {
    const host = await begin(2)
    const inbound_url = await filled(host)
    const before = (await entries(host))[0]
    const path = `${executions}/${before?.id}`
    const whole = await call<Entry>(host, "GET", path)
    expect((await raw(host, env, journal)).match(/lovelace/gi)?.length, "on disk before").to.be.at.least(7)

    host.clock.move(0.7 * dayMs)
    const young = await patiently(() => post(inbound_url, { name: "Hopper" }))
    host.clock.move(1.4 * dayMs)
    await erased(host)

    const after = await call<Entry>(host, "GET", path)
    expect(after.body).to.deep.equal({ ...whole.body, payload_preview: "", transformed: null, response: { status: 201, body: "" } })
    expect(await raw(host, env, journal), "a younger event's").to.match(/hopper/i)
    expect([young.status, (await entries(host))[0]?.payload_preview]).to.deep.equal([201, '{"name":"Hopper"}'])
    const replayed = await call<{ details: { reason: string } }>(host, "POST", `${path}/replay`)
    expect([replayed.status, replayed.body.details.reason]).to.deep.equal([400, "payload_expired"])

    await host.stop()
    if (env["MILLRACE_STORAGE_URL"] === undefined)
      expect(readFileSync(join(dataDir, "millrace.db"), "latin1"), "in the bytes of the file").not.to.match(traces)
  })

  it("goes with deferred steps that failed permanently, too", async () => {
    const host = await begin(2)
    host.outgoing.fixtures.push(() => ({ status: 400, headers: {}, body: "" }))
    const step = {
      id: "tell",
      type: "http.request",
      url: "https://crm.example.com/",
      body: { name: "{{ event.name }}" },
      retry: { max_attempts: 1 },
    }
    const { inbound_url } = (await patiently(() => new Bench(host).save({ name: "Personal", pipeline: [step] }))).body as unknown as Made
    await patiently(() => post(inbound_url, { name: "Lovelace" }))
    const all = [...journal, JobCollection.name]
    await until("the dead job", async () => (await call<{ jobs: object[] }>(host, "GET", "/v1/jobs")).body.jobs.length === 1)
    expect(await raw(host, env, [JobCollection.name])).to.match(traces)
    host.clock.move(2.1 * dayMs)
    await until("the erasure", async () => {
      host.clock.move(600_000)
      return !traces.test(await raw(host, env, all))
    })
    expect((await call<{ jobs: object[] }>(host, "GET", "/v1/jobs")).body.jobs).to.deep.equal([])
    const again = await call<{ details: { reason: string } }>(host, "POST", `${executions}/${(await entries(host))[0]?.id}/retry`)
    expect([again.status, again.body.details.reason]).to.deep.equal([400, "payload_expired"])
  })

  it("leaves it sooner where the setting is made shorter, payloads that lie apart too", async () => {
    const first = await begin(7)
    await filled(first)
    await first.stop()
    const second = await begin(1)
    second.clock.move(2 * dayMs)
    await erased(second)
    expect((await entries(second)).map(({ status }) => status)).to.deep.equal(["accepted", "accepted"])
  })
})
