// What enqueueing needs of the jobs.
import { z } from "zod"

const RowRef = z.object({
  dataset: z.string(),
  row_id: z.string(),
  execution_id: z.string(),
  at: z.string(),
  /** Slug of the event's pipeline, where it is known; else it is looked up. */
  pipeline: z.string().nullish(),
})
export type RowRef = z.output<typeof RowRef>

export const catchUpRef = { type: "leads.catch_up", payload: z.object({}) }

export const followRef = {
  type: "leads.follow_rows",
  payload: z.object({
    organization: z.string(),
    rows: z.array(RowRef),
    /** Whether rows that are not there are looked for a second time. */
    again: z.boolean(),
  }),
}
