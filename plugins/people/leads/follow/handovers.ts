// Stores the progress of each process, in the commit of the rows' job. After a kill, rows lost from memory are read from the
// journal, starting at this position.
import { z } from "zod"
import { type Document, defineCollection, jobRef } from "#core"

/** `id` is the process id. */
export interface Handover extends Document {
  /** Rows staged before this time are in jobs. */
  through: string
  /** Time of the last report by the process, also without rows. */
  beat_at: string
}

export const HandoverCollection = defineCollection<Handover>()({
  name: "lead_handovers",
  scope: "global",
  times: ["through", "beat_at"],
  indexes: [],
  audit: "none",
})

/** Interval of the reports. */
export const beatMs = 60_000
/** A process without a report for this long has ended. */
export const silentMs = 3 * beatMs

const RowRef = z.object({
  dataset: z.string(),
  row_id: z.string(),
  execution_id: z.string(),
  at: z.string(),
  /** Slug of the event's pipeline. Looked up if absent. */
  pipeline: z.string().nullish(),
})
export type RowRef = z.output<typeof RowRef>

export const catchUpRef = jobRef("leads.catch_up", z.object({}), {
  timeoutMs: 600_000,
})

export const followRef = jobRef(
  "leads.follow_rows",
  z.object({
    organization: z.string(),
    rows: z.array(RowRef),
    /** True for the second try, with rows missing at the first. */
    again: z.boolean(),
  }),
  {
    timeoutMs: 300_000,
  },
)
