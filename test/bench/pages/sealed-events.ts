// A columnar copy of page events from synthetic, unstored events, for benchmarks of its readers.
import { join } from "node:path"
import { Clock, Ids, Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { Buckets } from "../../../plugins/data/buckets/index.ts"
import { type Dataset, type Row as DatasetRow, Datasets } from "../../../plugins/data/datasets/index.ts"
import type { Copy } from "../../../plugins/pages/page-analytics/collections.ts"
import { CopyStore } from "../../../plugins/pages/page-analytics/sealing/copy-store.ts"
import { Sealer } from "../../../plugins/pages/page-analytics/sealing/sealer.ts"
import { SegmentEngine } from "../../../plugins/pages/page-analytics/sealing/segment-engine.ts"
import { SegmentFiles } from "../../../plugins/pages/page-analytics/segments/segment-files.ts"
import { firstAt, timeOf } from "./synthetic-events.ts"

/** The service's own parts with synthetic events as input. */
export class AnalyticsFixture {
  readonly host: TestHost
  readonly engine = new SegmentEngine()
  readonly files: SegmentFiles
  readonly dataset: Dataset

  private constructor(host: TestHost, files: SegmentFiles, dataset: Dataset) {
    this.host = host
    this.files = files
    this.dataset = dataset
  }

  static async make(host: TestHost, dataDir: string): Promise<AnalyticsFixture> {
    const files = new SegmentFiles({ buckets: host.get(Buckets), ids: host.get(Ids), folder: join(dataDir, "bench"), cacheBytes: 0 })
    await files.start()
    const works = host.get(UnitsOfWork)
    const { slug } = await works.run((work) => host.get(Datasets).ensure(work, host.organization, "bench-events"))
    const dataset = await host.get(Datasets).require(host.organization.id, slug)
    return new AnalyticsFixture(host, files, dataset)
  }

  copies(): CopyStore {
    const { host, files } = this
    return new CopyStore({ store: host.get(Store), works: host.get(UnitsOfWork), clock: host.get(Clock), files }, host.organization.id)
  }

  sealer(copies: CopyStore, rowAtIndex: (index: number) => DatasetRow, count: number, total = count): Sealer {
    const { host, files, engine } = this
    const stream = async function* (filter: { created_at?: { $gte?: string } }) {
      const from = Date.parse(filter.created_at?.$gte ?? "") - firstAt
      const span = timeOf(total, total) - firstAt
      for (let index = Math.max(0, Math.ceil((from / span) * total)); index < count; index++) yield rowAtIndex(index)
    }
    const datasets = { rows: () => ({ stream }) } as unknown as Datasets
    return new Sealer(
      { datasets, clock: host.get(Clock), ids: host.get(Ids), files, engine, segmentRows: 400_000, keepDays: 3_650 },
      copies,
    )
  }

  async live(): Promise<Copy> {
    const copies = this.copies()
    await copies.first()
    const { live } = await copies.copies()
    if (!live) throw new Error("no copy")
    return live
  }
}

/** Builds a copy of these rows. Returns after the commit of its last segment. */
export async function seal(
  fixture: AnalyticsFixture,
  rowAtIndex: (index: number) => DatasetRow,
  count: number,
  total = count,
): Promise<void> {
  const copies = fixture.copies()
  const sealer = fixture.sealer(copies, rowAtIndex, count, total)
  let step = await sealer.advance(await fixture.live(), fixture.dataset, [])
  while (!step.caughtUp) step = await sealer.advance(step.copy, fixture.dataset, [])
}
