// Stored data of model calls: the daily cost, and answers for reuse by the same question.
import { type Document, defineCollection, type Json } from "#core"

export interface DayCost extends Document {
  /** UTC, YYYY-MM-DD. */
  day: string
  millicents: number
  calls: number
  input_tokens: number
  output_tokens: number
}

/** `id` contains organization and day. */
export const DayCostCollection = defineCollection<DayCost>()({
  name: "model_costs",
  scope: "organization",
  times: [],
  indexes: [{ fields: ["-day"] }],
  audit: "none",
})

export interface KeptAnswer extends Document {
  /** A text, an object of a schema, or vectors. */
  value: Json
  model: string
  cost_millicents?: number
  expires_at: string
}

/**
 * `id` is the call's own id, or derived from the organization and the question. The question covers model, prompt and its text,
 * form of the answer, seat, and input.
 */
export const AnswerCollection = defineCollection<KeptAnswer>()({
  name: "model_answers",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})
