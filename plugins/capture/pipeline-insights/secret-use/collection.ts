// What is known of the use of a verification secret: counts, times and client addresses, never what was sent.
import { defineCollection } from "#core"
import type { CountedDocument } from "../merged-document.ts"

/** Of one secret, by its id; also what a node counted and has not written yet. */
export interface SecretUse {
  pipeline_id: string
  first_at: string
  last_at: string
  /** Events that it verified. */
  events: number
  /** Of the last hour, by minute since the epoch, in order. */
  minutes: { minute: number; events: number }[]
  /** The most recent ones. */
  addresses: { address: string; last_at: string; events: number }[]
  more_addresses: boolean
  /** A while after its last event. */
  expires_at: string
}

export const SecretUses = defineCollection<SecretUse & CountedDocument>()({
  name: "event_pipeline_secret_uses",
  scope: "organization",
  times: ["expires_at"],
  indexes: [{ fields: ["pipeline_id"] }],
  expires: "expires_at",
  audit: "none",
  statistics: true,
})
