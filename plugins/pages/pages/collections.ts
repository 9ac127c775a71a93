// Statuses of pages, and earlier weights of their variants.
import { type Document, defineCollection } from "#core"

export const pageStatuses = ["draft", "published", "archived"] as const

/** A change of a page's weights. Weights decide the variant of a visitor. */
export interface WeightChange extends Document {
  page_id: string
  at: string
  /** Weights by variant key. */
  before: Record<string, number>
  after: Record<string, number>
}

export const WeightChangesCollection = defineCollection<WeightChange>()({
  name: "page_weight_changes",
  scope: "organization",
  times: ["at"],
  indexes: [{ fields: ["page_id", "at"] }],
})
