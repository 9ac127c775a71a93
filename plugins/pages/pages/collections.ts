// What is kept of a page: one artifact with its variants.
import { type Document, defineCollection } from "#core"

export const pageStatuses = ["draft", "published", "archived"] as const
export type PageStatus = (typeof pageStatuses)[number]

export interface Variant {
  key: string
  html: string
  /** Relative share of visits. */
  weight: number
}

export interface StoredPage extends Document {
  slug: string
  title: string
  status: PageStatus
  variants: Variant[]
  /** Whether it shows several views, one with each change of its history; absent in pages of earlier versions. */
  single_page?: boolean
  revision: number
  created_at: string
  updated_at: string
  /** When it was last published; null: never. */
  published_at: string | null
}

export const PagesCollection = defineCollection<StoredPage>()({
  name: "pages",
  scope: "organization",
  times: ["created_at", "updated_at", "published_at"],
  indexes: [{ fields: ["slug"], unique: true }],
})

/** That a page's weights changed: what visitors were shown follows from them. */
export interface WeightChange extends Document {
  page_id: string
  at: string
  /** Weights by key of the variant. */
  before: Record<string, number>
  after: Record<string, number>
}

export const WeightChangesCollection = defineCollection<WeightChange>()({
  name: "page_weight_changes",
  scope: "organization",
  times: ["at"],
  indexes: [{ fields: ["page_id", "at"] }],
})
