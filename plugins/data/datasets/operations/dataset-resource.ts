// A dataset as callers see it (specification 2.5), and shapes that several operations share.
import { z } from "zod"
import { AnyJson, SlugOrId, Timestamp, Uuid } from "#core"
import type { Dataset } from "../collections.ts"
import { columnsOf, columnTypes } from "../column-types.ts"

export const DatasetSummary = z.object({
  id: Uuid,
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  class: z.enum(["table", "events"]),
  purpose: z.string(),
  type: z.enum(["native", "synced"]),
  status: z.enum(["active", "archived"]),
  sync_status: z.enum(["idle", "syncing", "error"]),
  integration_config_key: z.string(),
  integration_id: z.string(),
  warnings: z.array(z.string()).describe("Columns that hold mixed types."),
})

export const DatasetResource = DatasetSummary.extend({
  key: z.string().nullable().describe("Key column; null until the first keyed write."),
  columns: z.array(z.object({ name: z.string(), type: z.enum(columnTypes) })).describe("Inferred from rows, in order of first appearance."),
  revision: z.int(),
  created_at: Timestamp,
  updated_at: Timestamp,
})

export const RowResource = z.object({
  id: Uuid,
  values: z.record(z.string(), AnyJson),
  created_at: Timestamp,
  updated_at: Timestamp,
})

export const DatasetSlug = SlugOrId.describe("Slug or UUID of the dataset.")

export function summaryOf({
  organization_id: _organization,
  key: _key,
  unkeyed: _unkeyed,
  columns,
  revision: _revision,
  ...dataset
}: Dataset) {
  const { created_at: _created, updated_at: _updated, ...summary } = dataset
  return { ...summary, warnings: columnsOf(columns).warnings }
}

export function resourceOf({ organization_id: _organization, unkeyed: _unkeyed, ...dataset }: Dataset) {
  return { ...dataset, ...columnsOf(dataset.columns) }
}
