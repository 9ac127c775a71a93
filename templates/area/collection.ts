// What the area sample_name keeps.
import { type Document, defineCollection } from "#core"

export interface StoredItem extends Document {
  name: string
  created_at: string
}

export const Items = defineCollection<StoredItem>()({
  name: "sample_name",
  scope: "organization",
  times: ["created_at"],
  indexes: [],
})
