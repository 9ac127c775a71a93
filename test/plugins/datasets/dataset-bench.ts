// A service with datasets and organizations, with helpers to write rows as pipelines do.
import type { Json } from "../../../core/contract/collection.ts"
import type { UnitOfWork } from "../../../core/contract/unit-of-work.ts"
import { systemClock, timestamp } from "../../../core/kernel/clock.ts"
import { timeOrderedIds } from "../../../core/kernel/ids.ts"
import type { Dataset, Row } from "../../../plugins/data/datasets/index.ts"
import datasets, { Datasets } from "../../../plugins/data/datasets/index.ts"
import identity from "../../../plugins/platform/identity/index.ts"
import organizations, { ApiKeys, Bootstrap, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { ServiceUnderTest } from "../unit-of-work.ts"

const ids = timeOrderedIds(systemClock)

export interface EventOptions {
  readonly key?: string
  readonly executionId?: string
  readonly receivedAt?: string
  readonly stepId?: string
  readonly itemIndex?: number
}

export interface DatasetBench {
  readonly service: ServiceUnderTest
  readonly datasets: Datasets
  readonly home: { id: string; slug: string }
  /** An owner's key of another organization. */
  readonly stranger: string
  executionId(): string
  stage(work: UnitOfWork, dataset: string, values: Record<string, Json>, options?: EventOptions): ReturnType<Datasets["write"]>
  /** Stages one row, commits it and returns its id. */
  event(dataset: string, values: Record<string, Json>, options?: EventOptions): Promise<string>
  ensure(dataset: string): Promise<void>
  rows(dataset: string): Promise<Row[]>
  dataset(slug: string): Promise<Dataset>
}

export async function startBench(): Promise<DatasetBench> {
  const service = await new ServiceUnderTest([identity, organizations, datasets]).start()
  service.key = service.get(Bootstrap).adminKey ?? undefined
  const directory = service.get(Organizations)
  const { id, slug } = await directory.first()
  const home = { id, slug }
  const stranger = await service.work((work) => {
    const other = directory.create(work, { name: "Elsewhere" })
    const keyOptions = { name: "Key", kind: "api_key", role: "owner", scopes: null, user: null } as const
    return service.get(ApiKeys).mint(work, other.id, keyOptions).text
  })
  const records = service.get(Datasets)
  const bench: DatasetBench = {
    service,
    datasets: records,
    home,
    stranger,
    executionId: () => ids.uuid(),
    stage(work, dataset, values, options = {}) {
      const { key, executionId = ids.uuid(), receivedAt = timestamp(Date.now()), stepId = "save", itemIndex = 0 } = options
      return records.write(work, { organization: home, dataset, key, values, origin: { executionId, stepId, itemIndex, receivedAt } })
    },
    event: (dataset, values, options) => service.work(async (work) => (await bench.stage(work, dataset, values, options)).row_id),
    async ensure(dataset) {
      await service.work((work) => records.ensure(work, home, dataset))
    },
    async rows(slug) {
      const { id: dataset_id } = await records.require(home.id, slug)
      return records.rows(home.id).find({ dataset_id }, { sort: { created_at: 1 } })
    },
    dataset: (slug) => records.require(home.id, slug),
  }
  return bench
}
