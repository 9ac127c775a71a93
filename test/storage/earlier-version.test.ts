// "A newer version reads what an older one wrote" (CONTRIBUTING.md). This version opens stores of version 0.1.0, in earlier/, and
// continues to use them. Each has a dataset with two rows, a signed pipeline, a page and a further API key. The stores never
// change: stores of later versions are added beside them.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { expect } from "chai"
import { BSON, MongoClient } from "mongodb"
import { type TestHost, testHost } from "#core/testing"
import { mongoAvailable, sharedMongo } from "../mongodb-server.ts"

interface ExampleService {
  readonly secret: string
  readonly endpoint_id: string
}

describe("a store of an earlier version", () => {
  let dataDir: string
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), "millrace-earlier-"))
  })
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

  function placed(store: "sqlite" | "mongodb"): string {
    const folder = join(import.meta.dirname, "earlier", store)
    for (const name of ["master.key", "bootstrap.json"]) cpSync(join(folder, name), join(dataDir, name))
    return folder
  }

  async function goesOn(folder: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
    const { secret, endpoint_id } = JSON.parse(readFileSync(join(folder, "known.json"), "utf8")) as ExampleService
    for (const start of [1, 2]) {
      const host = await testHost({ dataDir, env })
      try {
        expect(await emails(host), "rows").to.include.members(["ada@example.com", "grace@example.com"])
        const { body } = await host.api<{ pages: { slug: string }[] }>("GET", "/v1/pages")
        expect(body.pages.map(({ slug }) => slug)).to.deep.equal(["landing"])
        // The secret was sealed and the organization's key was created at that time.
        const pipeline = { inbound_url: `${host.url}/v1/inbound/${endpoint_id}` }
        const email = `later-${start}@example.com`
        expect((await host.send(pipeline, { email, budget: 1 }, { secret })).status).to.equal(201)
        expect((await host.send(pipeline, { email, budget: 1 }, { secret: "another" })).status).to.equal(401)
        expect(await emails(host)).to.have.length(2 + start)
      } finally {
        await host.stop()
      }
    }
  }

  async function emails(host: TestHost): Promise<string[]> {
    const { body } = await host.api<{ rows: { values: { email: string } }[] }>("GET", "/v1/datasets/leads/rows")
    return body.rows.map(({ values }) => values.email)
  }

  it("is read and written on, embedded", async () => {
    const folder = placed("sqlite")
    writeFileSync(join(dataDir, "millrace.db"), gunzipSync(readFileSync(join(folder, "millrace.db.gz"))))
    await goesOn(folder)
  })

  const onMongo = mongoAvailable ? it : it.skip
  onMongo("is read and written on, in MongoDB (mongodb)", async () => {
    const folder = placed("mongodb")
    const url = (await sharedMongo()).freshUrl()
    const dump = BSON.EJSON.parse(gunzipSync(readFileSync(join(folder, "dump.json.gz"))).toString(), { relaxed: false }) as Record<
      string,
      BSON.Document[]
    >
    const client = await new MongoClient(url).connect()
    for (const [name, documents] of Object.entries(dump)) if (documents.length > 0) await client.db().collection(name).insertMany(documents)
    await client.close()
    await goesOn(folder, { MILLRACE_STORAGE_URL: url })
  })
})
