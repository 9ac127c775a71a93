// Reads, adds, removes and exports the rows of a dataset.
import { z } from "zod"
import { AnyJson, AppError, Clock, defineOperation, giveWay, Pager, pageInput, resultOf, Timestamp, timestamp, Uuid } from "#core"
import type { Streamed } from "#core/engine"
import { blanksOf, withBlanks } from "../blank-columns.ts"
import { DatasetResource } from "../dataset.ts"
import { Datasets } from "../datasets.ts"
import { byteOrderMark, csv, ndjson } from "../export.ts"
import { batchRowId } from "../row-identity.ts"
import { refuseUnordered } from "../row-query.ts"

/** A row in responses. */
const RowResource = z.object({
  id: Uuid,
  values: z.record(z.string(), AnyJson),
  created_at: Timestamp,
  updated_at: Timestamp,
})

/** Rows staged in one turn. Other work runs in between. */
const rowsAtOnce = 50

const FilterText = z
  .string()
  .max(10_000)
  .default("")
  .describe(
    'JSON over columns, such as {"email":"ada@example.com"} or {"budget":{"$gte":1000}}; $and and $or take lists. `id`, `created_at` and `updated_at` are those of the row; write `values.id` for a column of that name. A row that lacks a column of text is found by "", as it is read. Where it would leave more than 100,000 rows to go through, an indexed column must narrow them: created_at, id, or the key where every row has one.',
  )

const leads = [
  { email: "ada@example.com", name: "Ada Lovelace", budget: 5_000 },
  { email: "grace@example.com", name: "Grace Hopper", budget: 1_200 },
]
const inserted = (row: Record<string, string | number>) => ({
  operation: "datasets.insert_rows",
  input: { slug: resultOf("dataset.slug"), rows: [row] },
})
const references = Object.fromEntries([["dataset", "datasets.create"], ...leads.map((row) => [row.email, inserted(row)] as const)])

export const listRows = defineOperation({
  name: "datasets.list_rows",
  summary: "List rows of a dataset, newest first unless sorted otherwise.",
  description:
    'Every row has all columns that the dataset knows: one that it lacks, since it was written before or without it, reads as "" where the column holds text, and as null otherwise.',
  http: { method: "GET", path: "/v1/datasets/{slug}/rows" },
  access: { scope: "datasets:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({
    slug: DatasetResource.ref,
    filter: FilterText,
    sort: z
      .string()
      .max(300)
      .default("")
      .describe(
        "A column, `id`, `created_at` or `updated_at` of the row; `values.id` is a column `id`; prefix `-` for descending order. More than 100,000 rows can be sorted by `created_at` only.",
      ),
    ...pageInput,
  }),
  output: z.object({ rows: z.array(RowResource), next_cursor: z.string() }),
  errors: ["invalid_argument", "not_found", "deadline_exceeded"],
  examples: [
    { given: references, input: { slug: resultOf("dataset.slug"), filter: '{"budget":{"$gte":1000}}', sort: "-budget", limit: 10 } },
  ],
  inject: { datasets: Datasets, pager: Pager },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const dataset = await deps.datasets.require(organization, input.slug)
    const { filter, sort } = await deps.datasets.query(organization, dataset, input)
    const page = await deps.pager.page({
      collection: deps.datasets.rows(organization),
      organization,
      cursorScope: JSON.stringify(["datasets.list_rows", dataset.id, input.filter, input.sort]),
      filter,
      sort,
      request: input,
    })
    refuseUnordered(sort, page.items)
    const blanks = blanksOf(dataset)
    const rows = page.items.map(({ id, values, created_at, updated_at }) => ({
      id,
      values: withBlanks(values, blanks),
      created_at,
      updated_at,
    }))
    return { rows, next_cursor: page.next_cursor }
  },
})

export const insertRows = defineOperation({
  name: "datasets.insert_rows",
  auditSize: ["rows"],
  summary: "Write up to 1,000 rows in one transaction; with `key`, rows are upserted by that column.",
  http: { method: "POST", path: "/v1/datasets/{slug}/rows" },
  access: { scope: "datasets:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({
    slug: DatasetResource.ref,
    rows: z.array(z.record(z.string(), AnyJson)).min(1).max(1_000).describe("Objects of column values."),
    key: z.string().min(1).max(256).optional().describe("Column to upsert by: the dataset's key, fixed by its first keyed write."),
  }),
  output: z.object({ dataset_slug: z.string(), row_ids: z.array(Uuid).describe("In the order of `rows`.") }),
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [{ given: { dataset: "datasets.create" }, input: { slug: resultOf("dataset.slug"), rows: leads, key: "email" } }],
  inject: { datasets: Datasets, clock: Clock },
  async handle({ input, caller, deps, work }) {
    const dataset = await deps.datasets.require(caller.organization.id, input.slug)
    await deps.datasets.requireWritable(caller.organization.id, input.rows)
    const receivedAt = timestamp(deps.clock.now())
    const row_ids: string[] = []
    for (const [itemIndex, values] of input.rows.entries()) {
      if (itemIndex % rowsAtOnce === rowsAtOnce - 1) await giveWay()
      const origin = { executionId: work.id, stepId: "rows", itemIndex, receivedAt }
      const id = input.key === undefined ? batchRowId(origin) : undefined
      const row = { organization: caller.organization, dataset: dataset.slug, key: input.key, id, values, origin }
      row_ids.push((await inRow(itemIndex, () => deps.datasets.write(work, row))).row_id)
    }
    return { dataset_slug: dataset.slug, row_ids }
  },
})

export const deleteRow = defineOperation({
  name: "datasets.delete_row",
  summary: "Delete one row.",
  http: { method: "DELETE", path: "/v1/datasets/{slug}/rows/{id}" },
  access: { scope: "datasets:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ slug: DatasetResource.ref, id: Uuid }),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found"],
  examples: [{ given: { rows: "datasets.insert_rows" }, input: { slug: resultOf("rows.dataset_slug"), id: resultOf("rows.row_ids.0") } }],
  inject: { datasets: Datasets },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const dataset = await deps.datasets.require(organization, input.slug)
    const row = await deps.datasets.rows(organization).get(input.id)
    if (row?.dataset_id !== dataset.id) {
      throw new AppError("not_found", `The dataset "${dataset.slug}" has no row "${input.id}".`, { reason: "row_not_found" })
    }
    deps.datasets.remove(work, organization, dataset, row)
    return { id: input.id, deleted: true as const }
  },
})

export const exportRows = defineOperation({
  name: "datasets.export",
  summary: "Export a dataset's rows as CSV or NDJSON, oldest first, streamed.",
  description:
    "Every row has the columns known at the start, blank where it lacks one. In CSV, a column with the name of a row's own field is `values.id`, `values.created_at` or `values.updated_at`, and text that a spreadsheet would run as a formula is prefixed with '; NDJSON has the unchanged values, and columns that were not known yet as well.",
  http: { method: "GET", path: "/v1/datasets/{slug}/export" },
  access: { scope: "datasets:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({
    slug: DatasetResource.ref,
    format: z.enum(["csv", "ndjson"]).default("csv"),
    filter: FilterText,
    bom: z.boolean().default(false).describe("Start CSV with a byte order mark. Excel then reads letters such as ü. NDJSON has no mark."),
  }),
  output: z.custom<Streamed>(),
  errors: ["invalid_argument", "not_found"],
  examples: [{ given: references, input: { slug: resultOf("dataset.slug"), format: "ndjson" } }],
  streams: ["text/csv", "application/x-ndjson"],
  mcp: { absent: "An export hands all rows to an agent at once and exceeds a tool result; datasets_list_rows reads page by page." },
  inject: { datasets: Datasets },
  async handle({ input, caller, deps }): Promise<Streamed> {
    const organization = caller.organization.id
    const dataset = await deps.datasets.require(organization, input.slug)
    const { filter, sort } = await deps.datasets.query(organization, dataset, { filter: input.filter, sort: "created_at" })
    const rows = deps.datasets.rows(organization).stream(filter, { sort })
    const blanks = blanksOf(dataset)
    const opening = input.bom ? byteOrderMark : ""
    const columns = [...blanks.keys()]
    return input.format === "csv"
      ? {
          contentType: "text/csv; charset=utf-8; header=present",
          fileName: `${dataset.slug}.csv`,
          chunks: csv(rows, columns, opening),
        }
      : { contentType: "application/x-ndjson", fileName: `${dataset.slug}.ndjson`, chunks: ndjson(rows, blanks) }
  },
})

/** Adds the index of the row to errors. */
async function inRow<T>(index: number, write: () => T | Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const fields = error.details.fields?.map(({ path, message }) => ({ path: `rows.${index}.${path}`, message }))
    const details = { ...error.details, ...(fields ? { fields } : {}) }
    throw AppError.from({ code: error.code, message: `rows.${index}: ${error.message}`, details }, { cause: error })
  }
}
