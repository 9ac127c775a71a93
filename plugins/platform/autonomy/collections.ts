// The gates that an organization chose; without a document, and where `gates` is null, every gate holds.
import { type Document, defineCollection, derivedUuid } from "#core"

export interface StoredGates extends Document {
  gates: string[] | null
  updated_at: string
}

export const AutonomyGateCollection = defineCollection<StoredGates>()({
  name: "autonomy_gates",
  scope: "organization",
  times: ["updated_at"],
  indexes: [],
})

/** The one document of an organization. */
export function gatesId(organization: string): string {
  return derivedUuid(organization, "autonomy-gates")
}
