// Rows of datasets, and the columns of a dataset.
import { type Document, defineCollection, type Json } from "#core"
import type { ColumnSeen } from "./column-types.ts"

/** Invalidation topic; announced with `<organization id>/<slug>` when a dataset changes. */
export const datasetsTopic = "datasets"

export function keyOf(organization: string, slug: string): string {
  return `${organization}/${slug}`
}

export interface Row extends Document {
  dataset_id: string
  values: Record<string, Json>
  created_at: string
  updated_at: string
  /** Of keyed rows: of the last writer, and of older ones for columns that they alone wrote. */
  position?: string
  column_positions?: Record<string, string>
}

/** Names of columns that a dataset knows. Further ones stay in their rows. */
export const maxColumns = 1_000

/** Writers that learn columns at the same time may store more than the limit. The first names count, on every node and store. */
export function withFirstColumns<D extends { readonly columns: readonly ColumnSeen[] }>(dataset: D): D {
  const { columns } = dataset
  if (columns.length <= maxColumns) return dataset
  const names = new Set<string>()
  for (const { name } of columns) if (names.size < maxColumns) names.add(name)
  return { ...dataset, columns: columns.filter(({ name }) => names.has(name)) }
}

/** One index beside the id's: events arrive in its order, and listing and export follow it. */
export const RowsCollection = defineCollection<Row>()({
  name: "dataset_rows",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [{ fields: ["dataset_id", "created_at"] }],
  audit: "size",
  auditFields: ["dataset_id"],
  phrases: [
    '{"values":{"',
    ',"variant":"',
    '","artifact_id":"',
    '","page_url":"',
    '","is_test":false,"device_type":"',
    '","browser":"',
    '","in_app":"',
    '","language":"',
    '","country":"',
    '","region":"',
    '","city":"',
    '"},"updated_at":"',
    '","position":"',
    '","column_positions":{}}',
  ],
})
