// Counts of the organizations that users create.
import { type Document, defineCollection } from "#core"

/** How many organizations a user created on one day of UTC. */
export interface CreationCount extends Document {
  count: number
  expires_at: string
}

export const CreationCountsCollection = defineCollection<CreationCount>()({
  name: "organization_creations",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
})
