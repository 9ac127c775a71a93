// What is kept of datasets and their rows.
import { type Document, defineCollection, type Json } from "#core"
import type { ColumnType } from "./column-types.ts"

export interface Dataset extends Document {
  slug: string
  name: string
  description: string
  class: "table" | "events"
  purpose: string
  type: "native" | "synced"
  status: "active" | "archived"
  sync_status: "idle" | "syncing" | "error"
  integration_config_key: string
  integration_id: string
  /** Column that keyed rows are known by; fixed by the first keyed write, null until then. */
  key: string | null
  /** Whether rows were written without a key; absent in datasets of earlier versions, where there may be such. */
  unkeyed?: boolean
  /** What values were seen to be, in the order in which they were first seen: one entry a name and type. */
  columns: { name: string; type: ColumnType }[]
  /** Counts changes made by callers; columns that are learned do not count. */
  revision: number
  created_at: string
  updated_at: string
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

export const DatasetsCollection = defineCollection<Dataset>()({
  name: "datasets",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [{ fields: ["slug"], unique: true }],
  restore: withFirstColumns,
})

/** Names of columns that a dataset knows. Further ones stay in their rows. */
export const maxColumns = 1_000

/** Writers that learn columns at the same time may store more than the limit. The first names count, on every node and store. */
function withFirstColumns(dataset: Dataset): Dataset {
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
