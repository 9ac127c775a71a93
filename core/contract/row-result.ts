// The result of an action that writes rows of datasets: what the journal lists under `rows` and a dry run shows.
import { z } from "zod"

/** The result of one run of an action with `writesTo`. */
export const RowResult = z.object({ row_id: z.uuid(), dataset_slug: z.string() })
export type RowResult = z.infer<typeof RowResult>

/** A row that a step wrote, as the journal lists it. */
export interface WrittenRow {
  step: string
  dataset: string
  row_id: string
}

/** The rows that a step's result names: its own, or those of each element of `for_each`. */
export function rowsIn(step: string, result: unknown): WrittenRow[] {
  const rows: WrittenRow[] = []
  for (const one of Array.isArray(result) ? (result as unknown[]) : [result]) {
    const row = one as Partial<Record<keyof RowResult, unknown>> | null | undefined
    if (typeof row?.row_id !== "string" || typeof row.dataset_slug !== "string") continue
    rows.push({ step, dataset: row.dataset_slug, row_id: row.row_id })
  }
  return rows
}
