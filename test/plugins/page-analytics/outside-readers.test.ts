// The copy for other engines: read by the query of docs/pages.md in an independent DuckDB.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api"
import { expect } from "chai"
import { Clock, Ids, Store, UnitsOfWork } from "#core"
import { Buckets } from "../../../plugins/data/buckets/index.ts"
import { type Segment, SegmentsCollection } from "../../../plugins/pages/page-analytics/collections.ts"
import { schemaVersion } from "../../../plugins/pages/page-analytics/event-columns.ts"
import { CopyStore } from "../../../plugins/pages/page-analytics/sealing/copy-store.ts"
import { LiveList } from "../../../plugins/pages/page-analytics/sealing/live-list.ts"
import { SegmentFiles } from "../../../plugins/pages/page-analytics/segments/segment-files.ts"
import { projectRoot } from "../../import-graph.ts"
import { until } from "../../waiting.ts"
import { AnalyticsHost, event } from "./host.ts"

const documented = /^```sql outside\n([\s\S]*?)^```$/m.exec(readFileSync(join(projectRoot, "docs/pages.md"), "utf8"))?.[1] ?? ""

describe("page analytics for readers outside", () => {
  let service: AnalyticsHost
  let folder: string
  let connection: DuckDBConnection
  before(async () => {
    service = await AnalyticsHost.start({ keep_replaced_ms: 600_000 })
    folder = join(service.host.dataDir, "buckets", service.organization.id, "page-events")
    connection = await (await DuckDBInstance.create(":memory:")).connect()
  })
  after(async () => {
    connection.closeSync()
    await service.stop()
  })

  const numberOf = async (sql: string) => Number((await connection.runAndReadAll(sql)).getRowsJson()[0]?.[0])
  const outside = async () => {
    const statements = documented.replace("s3://BUCKET/ORGANIZATION_ID/page-events", folder).trim().split(";\n")
    for (const statement of statements.slice(0, -1)) await connection.run(statement)
    return numberOf(statements.at(-1) ?? "")
  }
  const inside = async () => Number((await service.rows("SELECT count(*) FROM events"))[0]?.[0])
  const files = () => readdirSync(folder, { recursive: true }).map(String)
  const listedFiles = () => JSON.parse(readFileSync(join(folder, "live.json"), "utf8")) as { file: string; day: string; rows: number }[]

  it("holds what the API answers, by the query that is documented", async () => {
    await service.write([event("pageview"), event("lead")], "2026-01-31T10:00:00.000Z")
    await service.write([event("pageview")])
    await service.caughtUp()
    await until(async () => files().includes("live.json") && (await outside()) === 3)
    expect(await inside()).to.equal(3)
    expect(listedFiles()[0]).to.deep.include({ day: "2026-01-31", rows: 2 })
  })

  it("counts no row twice after a rebuild, and none that was deleted, while the replaced files are still there", async () => {
    const [eventFile] = await service.write([event("lead")])
    await service.caughtUp()
    await service.api("POST", "/v1/page-analytics/rebuild", {})
    await until(async () => (await service.api<{ rebuilding: boolean }>("GET", "/v1/page-analytics/status")).body.rebuilding === false)
    await service.api("DELETE", `/v1/datasets/page-events/rows/${eventFile}`)
    await service.caughtUp()
    expect(await inside()).to.equal(3)
    await until(async () => (await outside()) === 3)
    expect(await numberOf(`SELECT count(*) FROM read_parquet('${folder}/**/*.parquet')`)).to.be.greaterThan(3)
  })

  it("names the days, so that a reader opens only those it wants", async () => {
    const only = documented.replace("'live.json')", "'live.json') WHERE day >= '2026-02-01'")
    const [setFolder = "", setFiles = "", count = ""] = only.replace("s3://BUCKET/ORGANIZATION_ID/page-events", folder).split(";\n")
    await connection.run(setFolder)
    await connection.run(setFiles)
    expect(await numberOf(count)).to.equal(1)
  })

  it("lists the copy as it is, also where another node changed it while the list was on its way", async () => {
    const { host } = service
    const { organization } = await service.another()
    const [store, works, clock, ids] = [host.get(Store), host.get(UnitsOfWork), host.get(Clock), host.get(Ids)]
    const args = { buckets: host.get(Buckets), ids, folder: join(host.dataDir, "list"), cacheBytes: 0 }
    const copies = new CopyStore({ store, works, clock, files: new SegmentFiles(args) }, organization.id)
    await copies.first()
    const live = async () => (await copies.copies()).live ?? expect.fail("no copy")
    const copy_id = (await live()).id
    await works.run((work) => {
      for (const id of ["one", "two"])
        work.in(SegmentsCollection, organization.id).insert({ ...segment, id, copy_id, key: `page-events/${id}` })
    })
    let lists = 0
    class Overtaken extends SegmentFiles {
      override async list(of: string, segments: readonly Segment[]) {
        await super.list(of, segments)
        if (lists++ === 0) await copies.change(await live(), { add: [], replace: segments.slice(0, 1), set: {} })
      }
    }
    const list = new LiveList(new Overtaken(args))
    await list.write(copies)
    const path = join(host.dataDir, "buckets", organization.id, "page-events/live.json")
    expect(JSON.parse(readFileSync(path, "utf8"))).to.deep.equal([{ file: "two", day: "2026-01-31", rows: 1, bytes: 1 }])
    await list.write(copies)
    expect(lists).to.equal(2)
  })
})

const segment = {
  day: "2026-01-31",
  rows: 1,
  bytes: 1,
  schema: schemaVersion,
  first_at: "2026-01-31T10:00:00.000Z",
  last_at: "2026-01-31T10:00:00.000Z",
  sealed_at: "2026-01-31T10:00:01.000Z",
  replaced_at: null,
}
