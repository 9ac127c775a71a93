// Recent calls of a connection, and the end of its vendor's wait: a document per connection, shared by all nodes.
import { type Document, defineCollection } from "#core"
import type { SpentByWindow } from "./window.ts"

export interface CallCount extends Document {
  revision: number
  spent: SpentByWindow
  asked_until: string | null
  expires_at: string
}

export const CallCounts = defineCollection<CallCount>()({
  name: "integration_call_counts",
  scope: "organization",
  times: ["asked_until", "expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})
