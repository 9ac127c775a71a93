// How far each process has handed its rows to the leads, kept in the commit of the rows' job: what a kill takes out of
// memory is read from the journal again, from there on.
import { z } from "zod"
import { type Document, defineCollection, jobRef } from "#core"

/** `id` is the process. */
export interface Handover extends Document {
  /** Rows that were staged before this time are in jobs. */
  through: string
  /** When the process last said so; also without rows. */
  beat_at: string
}

export const HandoverCollection = defineCollection<Handover>()({
  name: "lead_handovers",
  scope: "global",
  times: ["through", "beat_at"],
  indexes: [],
  audit: "none",
})

/** A process says so this often. */
export const beatMs = 60_000
/** A process that has said nothing for so long has ended. */
export const silentMs = 3 * beatMs

const RowRef = z.object({
  dataset: z.string(),
  row_id: z.string(),
  execution_id: z.string(),
  at: z.string(),
  /** Slug of the event's pipeline, where it is known; else it is looked up. */
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
    /** Whether rows that are not there are looked for a second time. */
    again: z.boolean(),
  }),
  {
    timeoutMs: 300_000,
  },
)
