// Files of the copy from an earlier version with fewer columns.
import { renameSync } from "node:fs"
import { join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import { expect } from "chai"
import { Store } from "#core"
import { collectionNamed } from "../collection-named.ts"
import { AnalyticsHost, event } from "./host.ts"

describe("page analytics: files of an earlier version", () => {
  let service: AnalyticsHost
  before(async () => {
    service = await AnalyticsHost.start()
  })
  after(() => service.stop())

  it("are read by themselves and beside newer ones, with NULL in columns that they lack", async () => {
    const { host, organization } = service
    const lacking = "view, autoplay, last_field"
    await service.write([event("pageview", { event_id: "earlier-view", view: "dropped" })])
    await service.caughtUp()
    const store = host.get(Store)
    const [segment] = await store
      .open(collectionNamed<{ key: string }>(host, "page_analytics_segments"), organization.id)
      .find({ replaced_at: null })
    const file = join(host.dataDir, "buckets", organization.id, segment?.key ?? "")
    const connection = await (await DuckDBInstance.create(":memory:")).connect()
    await connection.run(`COPY (SELECT * EXCLUDE (${lacking}) FROM read_parquet('${file}')) TO '${file}.new' (FORMAT parquet)`)
    connection.closeSync()
    renameSync(`${file}.new`, file)
    const earlier = {
      kind: "update",
      collection: collectionNamed<{ key: string }>(host, "page_analytics_segments"),
      organization: organization.id,
      id: segment?.id ?? "",
    } as const
    await store.commit({ id: "an-earlier-version", writes: [{ ...earlier, update: { $set: { schema: 1 } } }] })
    const query = `SELECT event_id, session_id, ${lacking} FROM events ORDER BY event_id`
    expect(await service.rows(query)).to.deep.equal([["earlier-view", "s1", null, null, null]])

    await service.write([event("video_play", { event_id: "later-play", autoplay: true, view: "pricing" })])
    await service.caughtUp()
    expect(await service.rows(query)).to.deep.equal([
      ["earlier-view", "s1", null, null, null],
      ["later-play", "s1", "pricing", true, null],
    ])
    expect(await service.rows("SELECT count(*), count_if(coalesce(view, '') = '') FROM events")).to.deep.equal([[2, 1]])
    expect(await service.rows("SELECT session_id, pageviews, events FROM sessions")).to.deep.equal([["s1", 1, 2]])
  })
})
