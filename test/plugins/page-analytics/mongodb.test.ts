// The same copy of rows in MongoDB: read in order, updated after deletions and late rows, and rebuilt.
import { expect } from "chai"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { until } from "../../waiting.ts"
import { AnalyticsHost, event } from "./host.ts"

const suite = mongoAvailable ? describe : describe.skip

suite("page analytics copy, rows in mongodb", () => {
  it("holds what is committed, follows a deletion and a late row, and is made again", async () => {
    const service = await AnalyticsHost.start({}, {}, { env: { MILLRACE_STORAGE_URL: await lendDatabaseToFile() } })
    const counted = () => service.rows("SELECT event, count(*), count(DISTINCT row_id) FROM events GROUP BY event ORDER BY event")
    try {
      const [pageview] = await service.write([event("pageview"), event("lead")])
      await service.caughtUp()
      expect(await counted()).to.deep.equal([
        ["lead", 1, 1],
        ["pageview", 1, 1],
      ])
      await service.api("DELETE", `/v1/datasets/page-events/rows/${pageview}`)
      await service.write([event("lead")], "2026-03-01T00:00:00.000Z")
      await service.caughtUp()
      expect(await counted()).to.deep.equal([["lead", 2, 2]])
      expect((await service.api("POST", "/v1/page-analytics/rebuild", {})).status).to.equal(200)
      await until(async () => (await service.api<{ rebuilding: boolean }>("GET", "/v1/page-analytics/status")).body.rebuilding === false)
      expect(await counted()).to.deep.equal([["lead", 2, 2]])
      expect(service.host.logged.filter((line) => line.includes('"level":50'))).to.deep.equal([])
    } finally {
      await service.stop()
    }
  })
})
