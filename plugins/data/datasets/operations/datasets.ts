// Lists datasets.
import { z } from "zod"
import { defineOperation, Store } from "#core"
import { type Dataset, DatasetResource, DatasetsCollection } from "../dataset.ts"

const int32 = z.int32()
const Summary = DatasetResource.answer.omit({ key: true, columns: true, revision: true, created_at: true, updated_at: true })

export const listDatasets = defineOperation({
  name: "datasets.list",
  summary: "List the organization's datasets, by slug.",
  http: { method: "GET", path: "/v1/datasets" },
  access: { scope: "datasets:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  mcp: { listed: true },
  columns: ["slug", "name", "class", "purpose", "type", "status", "warnings"],
  input: z.strictObject({
    limit: int32
      .transform((limit) => (limit <= 0 ? 50 : Math.min(limit, 200)))
      .default(50)
      .describe("At most 200; a negative one counts as absent."),
    offset: int32
      .transform((offset) => Math.max(offset, 0))
      .default(0)
      .describe("Datasets to skip; a negative one counts as absent."),
  }),
  output: z.object({ datasets: z.array(Summary), total: z.int() }),
  errors: ["invalid_argument"],
  inject: { store: Store },
  async handle({ input: { limit, offset }, caller, deps }) {
    const collection = deps.store.open(DatasetsCollection, caller.organization.id)
    const total = await collection.count({})
    if (offset >= total) return { datasets: [], total }
    const datasets: Dataset[] = []
    let passed = 0
    for await (const dataset of collection.stream({}, { sort: { slug: 1 }, limit: Math.min(offset + limit, total) })) {
      if (passed++ >= offset) datasets.push(dataset)
    }
    return { datasets: datasets.map(summaryOf), total }
  },
})

function summaryOf(dataset: Dataset): z.input<typeof Summary> {
  const {
    key: _key,
    columns: _columns,
    revision: _revision,
    created_at: _created,
    updated_at: _updated,
    ...summary
  } = DatasetResource.show(dataset)
  return summary
}
