// How many events an organization had in each minute, and how long they took: counts alone, kept for a day.
import { defineCollection } from "#core"
import type { CountedDocument } from "../merged-document.ts"
import type { MinuteCounts } from "./counts.ts"

export interface MinuteRecord extends MinuteCounts, CountedDocument {
  expires_at: string
}

/** `id` is the organization's, a colon, and the minute since the epoch in eight digits. */
export const EventMinutes = defineCollection<MinuteRecord>()({
  name: "event_minutes",
  scope: "organization",
  times: ["expires_at"],
  indexes: [{ fields: ["minute"] }],
  expires: "expires_at",
  audit: "none",
  statistics: true,
})
