// Listing, making, reading and changing datasets.
import { z } from "zod"
import { defineOperation, Name, requireRevision, resultOf, Slug, Store } from "#core"
import { type Dataset, DatasetsCollection } from "../collections.ts"
import { Datasets } from "../datasets.ts"
import { DatasetResource, DatasetSlug, DatasetSummary, resourceOf, summaryOf } from "./dataset-resource.ts"

const int32 = z.int32()

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
  output: z.object({ datasets: z.array(DatasetSummary), total: z.int() }),
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

export const createDataset = defineOperation({
  name: "datasets.create",
  summary: "Create a dataset.",
  http: { method: "POST", path: "/v1/datasets" },
  access: { scope: "datasets:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    name: Name,
    slug: Slug.optional().describe("Derived from the name when absent, with the suffix -2 if taken."),
    description: z.string().max(2_000).optional(),
    purpose: z.string().max(200).optional(),
    class: z.enum(["table", "events"]).optional(),
  }),
  output: DatasetResource,
  errors: ["invalid_argument", "already_exists", "failed_precondition"],
  examples: [{ input: { name: "Leads", description: "Everyone who asked for a demonstration." } }],
  inject: { datasets: Datasets },
  handle: async ({ input, caller, deps, work }) => resourceOf(await deps.datasets.create(work, caller.organization.id, input)),
})

export const getDataset = defineOperation({
  name: "datasets.get",
  summary: "Read a dataset: its columns, its key and warnings.",
  http: { method: "GET", path: "/v1/datasets/{slug}" },
  access: { scope: "datasets:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ slug: DatasetSlug }),
  output: DatasetResource,
  errors: ["not_found"],
  examples: [{ given: { dataset: "datasets.create" }, input: { slug: resultOf("dataset.slug") } }],
  inject: { datasets: Datasets },
  handle: async ({ input, caller, deps }) => resourceOf(await deps.datasets.require(caller.organization.id, input.slug)),
})

export const updateDataset = defineOperation({
  name: "datasets.update",
  summary: "Change a dataset's name, description, purpose or status; an archived dataset accepts no rows.",
  description: "Datasets of the service, such as page-events, cannot be archived.",
  http: { method: "PATCH", path: "/v1/datasets/{slug}" },
  access: { scope: "datasets:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    slug: DatasetSlug,
    name: Name.optional(),
    description: z.string().max(2_000).optional(),
    purpose: z.string().max(200).optional(),
    status: z.enum(["active", "archived"]).optional(),
    expected_revision: z.int().optional().describe("Revision that the change is based on; the change is refused if there is a newer one."),
  }),
  output: DatasetResource,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: { dataset: "datasets.create" },
      input: { slug: resultOf("dataset.slug"), name: "Leads of spring", expected_revision: resultOf("dataset.revision") },
    },
  ],
  inject: { datasets: Datasets },
  async handle({ input, caller, deps, work }) {
    const { slug, expected_revision, ...given } = input
    const dataset = await deps.datasets.require(caller.organization.id, slug)
    requireRevision("dataset", dataset.revision, expected_revision)
    const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    if (Object.keys(change).length === 0) return resourceOf(dataset)
    return resourceOf(deps.datasets.update(work, caller.organization.id, dataset, change))
  },
})
