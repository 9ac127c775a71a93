// How far each process has handed its rows to the leads, kept in the commit of the rows' job: what a kill takes out of
// memory is read from the journal again, from there on.
import { type Document, defineCollection } from "#core"

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
