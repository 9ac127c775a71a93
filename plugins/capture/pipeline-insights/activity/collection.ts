// How many events an organization had in each minute, how long they took, and of which pipelines they were: counts alone, kept for
// a day, ten minutes in a document.
import { defineCollection } from "#core"
import type { CountedDocument } from "../merged-document.ts"
import type { MinuteCounts } from "./counts.ts"

export interface BlockRecord extends CountedDocument {
  /** By minute since the epoch. */
  minutes: Record<string, MinuteCounts>
  /** By pipeline id, as `block.ts` writes them. */
  pipelines: Record<string, string>
  expires_at: string
}

export const EventMinutes = defineCollection<BlockRecord>()({
  name: "event_minutes",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
  statistics: true,
})

export function blockId(organization: string, block: number): string {
  return `${organization}:${String(block).padStart(7, "0")}`
}
