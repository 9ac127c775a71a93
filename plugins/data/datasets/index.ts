// Datasets: tables of rows. Pipelines and callers write the rows, and people query and export them.
import { z } from "zod"
import { CacheInvalidation, Clock, definePlugin, type Json, Live, Store } from "#core"
import type { RehearsalContext } from "#core/engine"
import { RowsCollection } from "./collections.ts"
import { DatasetResource, Reservations, ReservationsToken } from "./dataset.ts"
import { createDatasets, Datasets, RowGuards } from "./datasets.ts"
import { listDatasets } from "./operations/datasets.ts"
import { deleteRow, exportRows, insertRows, listRows } from "./operations/rows.ts"
import { reasons } from "./reasons.ts"
import { RowFollowers, rowsChannel } from "./row-news.ts"
import { splitLeads } from "./split-leads.ts"

export type { Row } from "./collections.ts"
export { asColumns, columnOf, type RenamedField } from "./column-names.ts"
export { type Dataset, DatasetReference, DatasetsCollection } from "./dataset.ts"
export { Datasets, type ReservedDataset, type RowGuard, RowGuards } from "./datasets.ts"
export { personColumn } from "./person-columns.ts"
export { executionOf, unkeyedRowId } from "./row-identity.ts"
export { type FollowedRow, RowFollowers } from "./row-news.ts"
export { problemOfName } from "./row-values.ts"
export type { RowWatcher } from "./row-writer.ts"
export { bareDataset, type LeadCapture, leadCapture, splitLeadsWarning } from "./split-leads.ts"

export default definePlugin({
  id: "datasets",
  reasons,
  config: z.strictObject({
    max_scanned_rows: z
      .int()
      .min(1)
      .default(100_000)
      .describe("Maximum rows that a filter or sort scans without an index; a larger scan is refused."),
  }),
  extensionPoints: [RowGuards, RowFollowers],
  register(reg, config) {
    reg.resources(DatasetResource)
    reg.collections(RowsCollection)
    reg.channels(rowsChannel)
    reg.lintRules(splitLeads)
    reg.rehearsal({ name: "rows", run: rehearsedRows })
    reg.operations(listDatasets, listRows, insertRows, deleteRow, exportRows)
    reg.provide(ReservationsToken, { create: () => new Reservations() })
    reg.provide(Datasets, {
      inject: {
        store: Store,
        invalidation: CacheInvalidation,
        clock: Clock,
        live: Live,
        guards: RowGuards,
        followers: RowFollowers,
        reservations: ReservationsToken,
      },
      create: (deps) => createDatasets({ ...deps, maxScannedRows: config.max_scanned_rows }),
    })
  },
})

/** Returns the rows written during a rehearsal of pipelines. */
async function rehearsedRows({ call }: RehearsalContext, slug: string): Promise<{ id: string; values: Record<string, Json> }[]> {
  const rows: { id: string; values: Record<string, Json> }[] = []
  let cursor = ""
  do {
    const page = await call(listRows, { slug, limit: 200, cursor })
    rows.push(...page.rows)
    cursor = page.next_cursor
  } while (cursor !== "")
  return rows
}
