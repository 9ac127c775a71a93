// The columnar copy contains each committed row once within seconds, and removes deleted rows.
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { Clock, Ids, Leases, Store, timestamp } from "#core"
import { createLeases } from "../../../core/cluster/leases.ts"
import { runningMs } from "../../slowness.ts"
import { expectWithin } from "../../tier.ts"
import { untilProcess as until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { AnalyticsHost, event } from "./host.ts"

/** Much longer than a query on a busy machine needs to open files replaced after its start. */
const keepMs = 120_000

describe("page analytics copy", () => {
  let shared: AnalyticsHost
  let service: AnalyticsHost
  before(async () => {
    shared = await AnalyticsHost.start({ keep_replaced_ms: keepMs, check_every_ms: 1_000 })
  })
  beforeEach(async () => {
    service = await shared.another()
  })
  after(() => shared.stop())

  const count = async () => Number((await service.rows("SELECT count(*), count(DISTINCT event_id) FROM events"))[0]?.[0])
  const segmentFiles = () => {
    const folder = join(service.host.dataDir, "buckets", service.organization.id, "page-events")
    return existsSync(folder)
      ? readdirSync(folder, { recursive: true })
          .map(String)
          .filter((name) => name.endsWith(".parquet"))
      : []
  }

  it("holds what was committed within five seconds and says up to when", async () => {
    let committed = ""
    const took = await runningMs(async () => {
      await service.write([event("pageview"), event("lead")])
      committed = service.now
      await service.caughtUp()
    })
    expectWithin(5_000, took, "what was committed being in the copy")
    const answer = await service.query("SELECT event FROM events ORDER BY event")
    expect(answer.rows).to.deep.equal([["lead"], ["pageview"]])
    expect((answer.as_of ?? "") > committed).to.equal(true)
    expectWithin(10_000, Date.parse(service.now) - Date.parse(answer.as_of ?? ""), "the age of the copy")
  })

  it("is partitioned by organization and the day of receipt", async () => {
    await service.write([event("pageview")], "2026-01-31T23:59:59.999Z")
    await service.write([event("pageview")], "2026-02-01T00:00:00.000Z")
    await service.caughtUp()
    expect(segmentFiles().map((name) => name.split("/")[0])).to.have.members(["day=2026-01-31", "day=2026-02-01"])
  })

  it("holds each row once, also what is read twice, and in its newest version", async () => {
    const first = event("pageview", { variant: "a" })
    await service.write([first, event("lead")])
    await service.caughtUp()
    await service.write([{ ...first, variant: "b" }])
    await service.write([event("pageview", { variant: "c" })])
    await until(
      async () => (await service.rows("SELECT variant FROM events WHERE event = 'pageview' ORDER BY variant")).flat().join() === "b,c",
    )
    expect(await count()).to.equal(3)
  })

  it("takes a row that is written long after its event was received, by the note in its commit", async () => {
    await service.write([event("pageview")])
    await service.caughtUp()
    await service.write([event("lead")], "2026-03-01T12:00:00.000Z")
    await service.caughtUp()
    expect(await service.rows("SELECT received_at FROM events WHERE event = 'lead'")).to.deep.equal([["2026-03-01T12:00:00.000Z"]])
    expect(
      await service.host.get(Store).open(collectionNamed(service.host, "page_analytics_notes"), service.organization.id).count({}),
    ).to.equal(0)
  })

  it("loses a deleted row from the table and from its files", async () => {
    const [id = ""] = await service.write([event("lead", { page_url: "https://acme.test/gone" }), event("pageview")])
    await service.caughtUp()
    const before = segmentFiles()
    expect((await service.api("DELETE", `/v1/datasets/page-events/rows/${id}`)).status).to.equal(200)
    await service.caughtUp()
    expect(await service.rows("SELECT event FROM events")).to.deep.equal([["pageview"]])
    service.host.clock.move(keepMs)
    await until(async () => !segmentFiles().some((name) => before.includes(name)))
    expect(segmentFiles()).to.have.length(1)
  })

  it("drops a segment whose every row was deleted", async () => {
    const ids = await service.write([event("pageview")])
    await service.caughtUp()
    await service.api("DELETE", `/v1/datasets/page-events/rows/${ids[0]}`)
    await service.caughtUp()
    expect(await count()).to.equal(0)
    service.host.clock.move(keepMs)
    await until(async () => segmentFiles().length === 0)
  })

  it("goes on after a restart where it ended, without a row twice or lost", async () => {
    const { dataDir } = service.host
    const analyticsHost = await AnalyticsHost.start({}, {}, { dataDir: join(dataDir, "restarted") })
    // Within the overlap of the readings after the next event.
    await analyticsHost.write([event("pageview"), event("pageview")], timestamp(Date.now() - 1_500))
    await analyticsHost.caughtUp()
    await analyticsHost.stop()
    const again = await AnalyticsHost.start({}, {}, { dataDir: join(dataDir, "restarted") })
    try {
      await again.write([event("lead")])
      await again.caughtUp()
      await again.caughtUp()
      expect(await again.rows("SELECT count(*), count(DISTINCT row_id) FROM events")).to.deep.equal([[3, 3]])
    } finally {
      await again.stop()
    }
  })

  it("is made again from the dataset by one call, and answers meanwhile", async () => {
    await service.write(Array.from({ length: 30 }, () => event("pageview")))
    await service.caughtUp()
    const store = service.host.get(Store)
    const segments = () =>
      store
        .open(collectionNamed<{ rows: number }>(service.host, "page_analytics_segments"), service.organization.id)
        .find({ replaced_at: null })
    const before = await segments()
    const { status } = await service.api("POST", "/v1/page-analytics/rebuild", {})
    expect(status).to.equal(200)
    expect(await count()).to.equal(30)
    await until(async () => (await service.api<{ rebuilding: boolean }>("GET", "/v1/page-analytics/status")).body.rebuilding === false)
    expect(await count()).to.equal(30)
    const after = await segments()
    expect(after.map(({ id }) => id)).not.to.include.members(before.map(({ id }) => id))
    await service.write([event("lead")])
    await service.caughtUp()
    expect(await count()).to.equal(31)
  })

  it("merges small segments, and the answer stays the same", async () => {
    for (let n = 0; n < 10; n++) {
      await service.write([event("pageview", { variant: String(n) })])
      await service.caughtUp()
    }
    await until(async () => (await service.api<{ segments: number }>("GET", "/v1/page-analytics/status")).body.segments < 8)
    expect(await count()).to.equal(10)
    expect((await service.rows("SELECT variant FROM events ORDER BY variant")).flat()).to.deep.equal([..."0123456789"])
  })

  it("seals a day again when it differs from the store", async () => {
    const day = new Date(Date.parse(service.now) - 3 * 86_400_000).toISOString()
    await service.write([event("pageview"), event("pageview")], day)
    await service.caughtUp()
    const store = service.host.get(Store)
    const organization = service.organization.id
    const [segment] = await store.open(collectionNamed<{ rows: number }>(service.host, "page_analytics_segments"), organization).find({})
    // A segment that lost its rows, according to the manifest.
    await store.commit({
      id: "a1",
      writes: [
        {
          kind: "update",
          collection: collectionNamed<{ rows: number }>(service.host, "page_analytics_segments"),
          organization,
          id: segment?.id ?? "",
          update: { $set: { rows: 1 } },
        },
      ],
    })
    await until(async () =>
      (
        await store
          .open(collectionNamed<{ rows: number }>(service.host, "page_analytics_segments"), organization)
          .find({ replaced_at: null })
      ).every(({ id, rows }) => id !== segment?.id && rows === 2),
    )
    expect(await count()).to.equal(2)
  })

  it("is sealed by one node at a time: the one that holds the lease", async () => {
    const { host } = await AnalyticsHost.start()
    const leases = host.get(Leases)
    // This organization has no copy, so no other node claims the lease.
    expect(await leases.claim("page-analytics:sealer", 15_000)).to.equal(true)
    const other = createLeases({ store: host.get(Store), clock: host.get(Clock), ids: host.get(Ids), holder: "another node" })
    expect(await other.claim("page-analytics:sealer", 15_000)).to.equal(false)
    await leases.release("page-analytics:sealer")
    expect(await other.claim("page-analytics:sealer", 15_000)).to.equal(true)
    await host.stop()
  })

  it("keeps values that fit no column's type as NULL, and columns it does not know as properties", async () => {
    await service.write([event("web_vital", { vital_name: "LCP", vital_value: "fast", colour: "red", deep: { a: [1] } })])
    await service.caughtUp()
    const [row] = await service.rows("SELECT vital_name, vital_value, properties->>'colour', properties->'deep' FROM events")
    expect(row).to.deep.equal(["LCP", null, "red", '{"a":[1]}'])
  })
})
