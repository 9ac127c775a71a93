// Personal data in the journal ends with its payload. Compares the bytes on disk before and after, without the service.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect } from "chai"
import { MongoClient } from "mongodb"
import type { TestHost } from "#core/testing"
import { JobCollection } from "../../../core/jobs/jobs-collection.ts"
import { EntryCollection, PayloadCollection } from "../../../core/pipeline/journal/collections.ts"
import { patiently, until } from "../../waiting.ts"
import { Bench, type Entry, type Made, post } from "../bench.ts"
import { onBothStores } from "../stores.ts"

const dayMs = 86_400_000
const journal = [EntryCollection.name, PayloadCollection.name]

/** Returns every stored document of these collections. */
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
    const matches = await Promise.all(collections.map((name) => client.db().collection(name).find().toArray()))
    return matches
      .flat()
      .map((document) => JSON.stringify(document))
      .join("\n")
  } finally {
    await client.close()
  }
}

const documentOf = (name: string) => ({
  name,
  transform_js: "function transform(event) { console.log(event.name); return { shouted: event.name.toUpperCase() } }",
  pipeline: [
    { id: "save", type: "dataset.write", dataset_slug: "people", row: { n: 1 } },
    { type: "respond", status: 201, body: { hello: "{{ event.shouted }}" } },
  ],
})

// Each test sends another person and searches for that name: other names may still be present.
onBothStores("what the journal holds of an event", ({ start, storage }) => {
  let dataDir: string
  let env: Record<string, string>
  let host: TestHost

  /** Starts a service with this setting on the suite's store. */
  const begin = (days: number) => start({ dataDir, env: { ...env, MILLRACE_RETENTION_PAYLOADS_DAYS: String(days) } })
  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "millrace-erasure-"))
    env = await storage()
    const first = await begin(7)
    await filled(first, "Earlier", "Germain")
    await first.stop()
    host = await begin(2)
  })
  // After the suite's hosts have stopped, since they write to it until then.
  after(() => rmSync(dataDir, { recursive: true, force: true }))

  /** A pipeline with two events. The second has a field truncated in previews, so its payload is stored separately. */
  const filled = async (service: TestHost, title: string, person: string) => {
    const { body } = await patiently(() => new Bench(service).save(documentOf(title)))
    const { inbound_url } = body as unknown as Made
    for (const item of [{ name: person }, { name: person, password: person }])
      expect((await patiently(() => post(inbound_url, item))).body).to.deep.equal({ hello: person.toUpperCase() })
    return inbound_url
  }
  /** A node that missed a day needs a moment to catch up. */
  const call = <T>(method: string, path: string) => patiently(() => host.api<T>(method, path))
  const entries = async (slug: string) =>
    (await call<{ executions: Entry[] }>("GET", `/v1/event-pipelines/${slug}/executions`)).body.executions
  /** A sweep may have started before the move of the clock. The next one comes ten minutes later. */
  const erased = (traces: RegExp, collections = journal) => {
    const look = async () => {
      host.clock.move(600_000)
      return !traces.test(await raw(host, env, collections))
    }
    return until("the erasure", look, { everyMs: 500 })
  }

  it("leaves it sooner where the setting is made shorter, payloads that lie apart too", async () => {
    expect(await raw(host, env, journal)).to.match(/germain/i)
    host.clock.move(3 * dayMs)
    await erased(/germain/i)
    expect((await entries("earlier")).map(({ status }) => status)).to.deep.equal(["accepted", "accepted"])
  })

  it("goes with deferred steps that failed permanently, too", async () => {
    host.outgoing.fixtures.push(() => ({ status: 400, headers: {}, body: "" }))
    const step = {
      id: "tell",
      type: "http.request",
      url: "https://crm.example.com/",
      body: { name: "{{ event.name }}" },
      retry: { max_attempts: 1 },
    }
    const { inbound_url } = (await patiently(() => new Bench(host).save({ name: "Told", pipeline: [step] }))).body as unknown as Made
    await patiently(() => post(inbound_url, { name: "Kovalevskaya" }))
    await until("the dead job", async () => (await call<{ jobs: object[] }>("GET", "/v1/jobs")).body.jobs.length === 1)
    expect(await raw(host, env, [JobCollection.name])).to.match(/kovalevskaya/i)
    host.clock.move(2.1 * dayMs)
    await erased(/kovalevskaya/i, [...journal, JobCollection.name])
    expect((await call<{ jobs: object[] }>("GET", "/v1/jobs")).body.jobs).to.deep.equal([])
    const path = `/v1/event-pipelines/told/executions/${(await entries("told"))[0]?.id}/retry`
    const again = await call<{ details: { reason: string } }>("POST", path)
    expect([again.status, again.body.details.reason]).to.deep.equal([400, "payload_expired"])
  })

  // Last: it stops the service to read the bytes of its file.
  it("leaves the disk when its payload does, and the story of the event stays", async () => {
    const inbound_url = await filled(host, "Personal", "Lovelace")
    const before = (await entries("personal"))[0]
    const path = `/v1/event-pipelines/personal/executions/${before?.id}`
    const whole = await call<Entry>("GET", path)
    expect((await raw(host, env, journal)).match(/lovelace/gi)?.length, "on disk before").to.be.at.least(9)

    host.clock.move(0.7 * dayMs)
    const young = await patiently(() => post(inbound_url, { name: "Hopper" }))
    host.clock.move(1.4 * dayMs)
    await erased(/lovelace/i)

    const after = await call<Entry>("GET", path)
    const erasedEntry = { payload_preview: "", transformed: null, logs: [], response: { status: 201, body: "" } }
    expect(after.body).to.deep.equal({ ...whole.body, ...erasedEntry })
    expect(await raw(host, env, journal), "a younger event's").to.match(/hopper/i)
    expect([young.status, (await entries("personal"))[0]?.payload_preview]).to.deep.equal([201, '{"name":"Hopper"}'])
    const replayed = await call<{ details: { reason: string } }>("POST", `${path}/replay`)
    expect([replayed.status, replayed.body.details.reason]).to.deep.equal([400, "payload_expired"])

    await host.stop()
    if (env["MILLRACE_STORAGE_URL"] === undefined)
      expect(readFileSync(join(dataDir, "millrace.db"), "latin1"), "in the bytes of the file").not.to.match(/lovelace/i)
  })
})
