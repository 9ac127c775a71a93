// Collection of dataset rows, and the column limit.
import { type Document, defineCollection, type Json } from "#core"
import type { ColumnSeen } from "./column-types.ts"

/** Invalidation topic, announced with `<organization id>/<slug>` on each change of a dataset. */
export const datasetsTopic = "datasets"

export function keyOf(organization: string, slug: string): string {
  return `${organization}/${slug}`
}

export interface Row extends Document {
  dataset_id: string
  values: Record<string, Json>
  created_at: string
  updated_at: string
  /** Keyed rows: position of the last writer, and positions of older writers for columns only they wrote. */
  position?: string
  column_positions?: Record<string, string>
}

/** Maximum number of known columns per dataset. Further columns stay in their rows. */
export const maxColumns = 1_000

/** Concurrent writers may store more columns than the limit. Every node and store uses the first names. */
export function withFirstColumns<D extends { readonly columns: readonly ColumnSeen[] }>(dataset: D): D {
  const { columns } = dataset
  if (columns.length <= maxColumns) return dataset
  const names = new Set<string>()
  for (const { name } of columns) if (names.size < maxColumns) names.add(name)
  return { ...dataset, columns: columns.filter(({ name }) => names.has(name)) }
}

/** One index besides the ID's. Events arrive in its order, and lists and exports read in its order. */
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
