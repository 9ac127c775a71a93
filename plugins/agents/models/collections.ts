// What is kept of calls of models: what they cost, by day, and their answers for as long as the same question may come again.
import { type Document, defineCollection, type Json } from "#core"

export interface DayCost extends Document {
  /** UTC, YYYY-MM-DD. */
  day: string
  millicents: number
  calls: number
  input_tokens: number
  output_tokens: number
}

/** `id` is the organization's and the day's. */
export const DayCostCollection = defineCollection<DayCost>()({
  name: "model_costs",
  scope: "organization",
  times: [],
  indexes: [{ fields: ["-day"] }],
  audit: "none",
})

export interface KeptAnswer extends Document {
  /** A text, what was asked for by a schema, or vectors. */
  value: Json
  model: string
  cost_millicents?: number
  expires_at: string
}

/** `id` follows from the organization and what was asked (model, prompt and its text, form of the answer, seat, input), or the call's own id. */
export const AnswerCollection = defineCollection<KeptAnswer>()({
  name: "model_answers",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})
