// Missing files of the copy, as after a restore of the store alone. The copy is rebuilt automatically, and no answer reveals its
// location.
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { Clock, Ids, Store, UnitsOfWork } from "#core"
import { Buckets } from "../../../plugins/data/buckets/index.ts"
import { CopiesCollection, SegmentsCollection } from "../../../plugins/pages/page-analytics/collections.ts"
import { CopyStore } from "../../../plugins/pages/page-analytics/sealing/copy-store.ts"
import { SegmentFiles } from "../../../plugins/pages/page-analytics/segments/segment-files.ts"
import { untilProcess as until } from "../../waiting.ts"
import { AnalyticsHost, type Answer, event } from "./host.ts"

const missingFile = "a file of the copy is missing"
const counting = "SELECT count(*) FROM events"

describe("page analytics: files that are gone", () => {
  let service: AnalyticsHost
  before(async () => {
    service = await AnalyticsHost.start()
  })
  after(() => service.stop())

  const folderOf = (of: AnalyticsHost) => join(of.host.dataDir, "buckets", of.organization.id, "page-events")
  const logLines = (of: AnalyticsHost, words: string) =>
    of.host.logged.filter((line) => line.includes(words) && line.includes(of.organization.id))
  const copiesOf = ({ host, organization }: AnalyticsHost) => {
    const [store, works, clock, ids] = [host.get(Store), host.get(UnitsOfWork), host.get(Clock), host.get(Ids)]
    const files = new SegmentFiles({ buckets: host.get(Buckets), ids, folder: join(host.dataDir, "given-up"), cacheBytes: 0 })
    return new CopyStore({ store, works, clock, files }, organization.id)
  }

  /** Queries until an answer arrives. Returns the earlier answers. */
  async function answered(by: AnalyticsHost, rows: number): Promise<Answer[]> {
    const before: Answer[] = []
    await until(async () => {
      const answer = await by.query(counting)
      if (answer.rows === undefined) before.push(answer)
      return answer.rows?.[0]?.[0] === rows
    })
    return before
  }

  const unavailable = (answers: readonly Answer[]) => {
    for (const answer of answers) {
      expect(answer.code, JSON.stringify(answer)).to.equal("unavailable")
      expect(JSON.stringify(answer)).not.to.contain(service.host.dataDir)
    }
  }

  it("has the copy made again after a start without them, with one warning, and takes what comes meanwhile", async () => {
    const dataDir = join(service.host.dataDir, "lost")
    const analyticsHost = await AnalyticsHost.start({}, {}, { dataDir })
    await analyticsHost.write([event("pageview"), event("pageview")])
    await analyticsHost.caughtUp()
    const folder = folderOf(analyticsHost)
    await analyticsHost.stop()
    rmSync(folder, { recursive: true })
    const again = await AnalyticsHost.start({}, {}, { dataDir })
    try {
      await again.write([event("lead")])
      unavailable(await answered(again, 3))
      await again.caughtUp()
      expect((await again.api<{ rebuilding: boolean }>("GET", "/v1/page-analytics/status")).body.rebuilding).to.equal(false)
      expect(logLines(again, missingFile)).to.have.length(1)
      expect(logLines(again, "could not be updated")).to.deep.equal([])
    } finally {
      await again.stop()
    }
  })

  it("has it made again once a query missed an old one", async () => {
    const other = await service.another()
    await other.write([event("pageview")], "2026-01-31T10:00:00.000Z")
    await other.write([event("pageview"), event("lead")])
    await other.caughtUp()
    rmSync(join(folderOf(other), "day=2026-01-31"), { recursive: true })
    const first = await other.query(counting)
    expect([first.code, first.details?.reason]).to.deep.equal(["unavailable", "segment_missing"])
    unavailable([first, ...(await answered(other, 3))])
    expect(logLines(other, missingFile)).to.have.length(1)
  })

  it("keeps a copy whose file another node only does not see", async () => {
    const other = await service.another()
    await other.write([event("pageview")])
    await other.caughtUp()
    const store = other.host.get(Store)
    const [segment] = await store.open(SegmentsCollection, other.organization.id).find({ replaced_at: null })
    const copy = (await copiesOf(other).copies()).live
    const update = { $set: { missed: segment?.id ?? "" } }
    await store.commit({
      id: "missed",
      writes: [{ kind: "update", collection: CopiesCollection, organization: other.organization.id, id: copy?.id ?? "", update }],
    })
    await until(async () => (await copiesOf(other).copies()).live?.missed === null)
    const { live, building } = await copiesOf(other).copies()
    expect([live?.id, live?.lost, building]).to.deep.equal([copy?.id, undefined, undefined])
    expect(logLines(other, missingFile)).to.deep.equal([])
  })

  it("lets a rebuild go on beside a copy that cannot be read, and blames no query for it", async () => {
    const dataDir = join(service.host.dataDir, "damaged")
    const analyticsHost = await AnalyticsHost.start({}, {}, { dataDir })
    await analyticsHost.write([event("pageview"), event("pageview")])
    await analyticsHost.caughtUp()
    const folder = folderOf(analyticsHost)
    await analyticsHost.stop()
    for (const name of readdirSync(folder, { recursive: true }).map(String))
      if (name.endsWith(".parquet")) writeFileSync(join(folder, name), "damaged")
    const again = await AnalyticsHost.start({}, {}, { dataDir })
    try {
      const first = await again.query(counting)
      expect([first.code, first.details?.reason]).to.deep.equal(["unavailable", "segment_unreadable"])
      await until(async () => logLines(again, "could not be updated").length > 0)
      expect((await again.api("POST", "/v1/page-analytics/rebuild", {})).status).to.equal(200)
      unavailable([first, ...(await answered(again, 2))])
      await again.caughtUp()
      expect(logLines(again, missingFile)).to.deep.equal([])
    } finally {
      await again.stop()
    }
  })

  it("begins a copy again that loses files while it is made, and gives up nothing for a file that was replaced", async () => {
    const other = await service.another()
    const copies = copiesOf(other)
    await copies.first()
    const { live } = await copies.copies()
    if (!live) expect.fail("no copy")
    await copies.rebuild(live)
    const { building } = await copies.copies()
    if (!building) expect.fail("no copy is being made")
    const segment = (id: string, copy_id: string, replaced_at: string | null) => ({ ...object, id, copy_id, replaced_at })
    const [replaced, lost, first] = [segment("a", live.id, object.sealed_at), segment("b", building.id, null), segment("c", live.id, null)]
    await service.host.get(UnitsOfWork).run((work) => {
      for (const item of [replaced, lost, first]) work.in(SegmentsCollection, copies.organization).insert(item)
    })
    await copies.change(building, { add: [], replace: [], set: { cursor: object.last_at } })
    expect(await copies.giveUp(replaced)).to.equal(false)
    expect(await copies.giveUp(lost)).to.equal(true)
    expect((await copies.copies()).building).to.deep.include({ id: building.id, cursor: null, caught_up: false })
    expect(await copies.segments(building)).to.deep.equal([])
    expect([await copies.giveUp(lost), await copies.giveUp(first), await copies.giveUp(first)]).to.deep.equal([false, true, false])
    expect((await copies.copies()).live).to.deep.include({ id: live.id, lost: true })
    const refused = await other.query(counting)
    expect([refused.code, refused.details?.reason]).to.deep.equal(["unavailable", "copy_unavailable"])
  })
})

const object = {
  key: "page-events/day=2026-01-31/x.parquet",
  day: "2026-01-31",
  rows: 1,
  bytes: 1,
  schema: 1,
  first_at: "2026-01-31T10:00:00.000Z",
  last_at: "2026-01-31T10:00:00.000Z",
  sealed_at: "2026-01-31T10:00:01.000Z",
}
