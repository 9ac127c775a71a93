// The copy in an S3 bucket: partitions readable by any engine, fetched completely by a node that lacks them.
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import { expect } from "chai"
import { Store } from "#core"
import { Buckets } from "../../../plugins/data/buckets/index.ts"
import { until } from "../../waiting.ts"
import { type S3Server, s3Available, startS3 } from "../buckets/s3-server.ts"
import { collectionNamed } from "../collection-named.ts"
import { AnalyticsHost, event } from "./host.ts"

const suite = s3Available ? describe : describe.skip

suite("page analytics in s3", () => {
  let server: S3Server | undefined
  let service: AnalyticsHost
  before(async () => {
    server = await startS3()
    service = await AnalyticsHost.start({ keep_replaced_ms: 1_000 }, { buckets: { s3: server.settings } })
  })
  after(async () => {
    await service?.stop()
    await server?.stop()
  })

  const segments = () =>
    service.host
      .get(Store)
      .open(collectionNamed<{ key: string; day: string }>(service.host, "page_analytics_segments"), service.organization.id)
      .find({ replaced_at: null })
  const cache = () => join(service.host.dataDir, "page-analytics", "cache")
  const cached = () =>
    existsSync(cache())
      ? readdirSync(cache(), { recursive: true })
          .map(String)
          .filter((name) => name.endsWith(".parquet"))
      : []

  it("keeps segments in the bucket, by organization and day, as Parquet that another engine reads", async () => {
    await service.write([event("pageview"), event("lead")], "2026-01-31T10:00:00.000Z")
    await service.caughtUp()
    const [segment] = await segments()
    expect(segment?.key).to.match(/^page-events\/day=2026-01-31\/[0-9a-f-]{36}\.parquet$/)
    const object = await service.host
      .get(Buckets)
      .open(service.organization.id)
      .get(segment?.key ?? "")
    const bytes: Uint8Array[] = []
    for await (const chunk of object?.chunks ?? []) bytes.push(chunk)
    const file = join(service.host.dataDir, "fetched.parquet")
    writeFileSync(file, Buffer.concat(bytes))
    const connection = await (await DuckDBInstance.create(":memory:")).connect()
    expect((await connection.runAndReadAll(`SELECT event FROM '${file}' ORDER BY event`)).getRows()).to.deep.equal([["lead"], ["pageview"]])
    expect(existsSync(join(service.host.dataDir, "buckets", service.organization.id))).to.equal(false)
  })

  it("keeps the list of live files beside them", async () => {
    const bucket = service.host.get(Buckets).open(service.organization.id)
    const objectKeys = async () => {
      const bytes: Uint8Array[] = []
      for await (const chunk of (await bucket.get("page-events/live.json"))?.chunks ?? []) bytes.push(chunk)
      return (JSON.parse(Buffer.concat(bytes).toString() || "[]") as { file: string }[]).map(({ file }) => `page-events/${file}`)
    }
    await until(async () => (await objectKeys()).length > 0)
    expect(await objectKeys()).to.deep.equal((await segments()).map(({ key }) => key))
  })

  it("answers on a node that has no file yet, and keeps what it fetched", async () => {
    await service.caughtUp()
    rmSync(cache(), { recursive: true, force: true })
    expect(await service.rows("SELECT count(*) FROM events")).to.deep.equal([[2]])
    const files = cached()
    expect(files).to.have.length((await segments()).length)
    expect(await Promise.all([1, 2, 3].map(() => service.rows("SELECT count(*) FROM events")))).to.deep.equal([[[2]], [[2]], [[2]]])
    expect(cached()).to.have.members(files)
  })

  it("takes a deleted row out of the bucket", async () => {
    const [id] = await service.write([event("cta_click")], "2026-02-01T10:00:00.000Z")
    await service.caughtUp()
    const before = await segments()
    await service.api("DELETE", `/v1/datasets/page-events/rows/${id}`)
    await service.caughtUp()
    expect(await service.rows("SELECT count(*) FROM events WHERE event = 'cta_click'")).to.deep.equal([[0]])
    const gone = before.find(({ day }) => day === "2026-02-01")
    await until(
      async () =>
        (await service.host
          .get(Buckets)
          .open(service.organization.id)
          .get(gone?.key ?? "")) === undefined,
    )
  })

  it("says that it is unavailable when a segment cannot be fetched, answers none of the rest, and makes the copy again", async () => {
    const [segment] = await segments()
    const bucket = service.host.get(Buckets).open(service.organization.id)
    await bucket.remove(segment?.key ?? "")
    rmSync(cache(), { recursive: true, force: true })
    const answer = await service.query("SELECT count(*) FROM events")
    expect([answer.code, answer.details?.reason, answer.rows]).to.deep.equal(["unavailable", "segment_missing", undefined])
    await until(async () => (await service.query("SELECT count(*) FROM events")).rows?.[0]?.[0] === 2)
    expect((await segments()).map(({ id }) => id)).not.to.include(segment?.id)
  })

  it("keeps its copy while the bucket cannot be reached", async () => {
    const [id] = await service.write([event("cta_click")], "2026-02-01T10:00:00.000Z")
    await service.caughtUp()
    const store = service.host.get(Store)
    const copies = () =>
      store
        .open(collectionNamed<{ lost?: unknown; missed?: unknown }>(service.host, "page_analytics_copies"), service.organization.id)
        .find({})
    const before = await copies()
    await server?.stop()
    server = undefined
    rmSync(cache(), { recursive: true, force: true })
    const { length } = service.host.logged
    await service.api("DELETE", `/v1/datasets/page-events/rows/${id}`)
    const answer = await service.query("SELECT count(*) FROM events")
    expect([answer.code, answer.details?.reason]).to.deep.equal(["unavailable", "bucket_unavailable"])
    await until(async () => service.host.logged.slice(length).some((line) => line.includes("could not be updated")))
    expect((await copies()).map(({ id, lost, missed }) => [id, lost, missed])).to.deep.equal([[before[0]?.id, undefined, undefined]])
  })
})
