// What the jobs of knowledge are called and take, for those that enqueue them.
import { z } from "zod"

export const readRef = {
  type: "knowledge.read",
  payload: z.strictObject({ item_id: z.string(), version: z.int() }),
  retry: { max_attempts: 5, initial_delay_ms: 1_000, factor: 4, max_delay_ms: 300_000 },
  timeoutMs: 120_000,
} as const

export const dropFileRef = { type: "knowledge.drop_upload", payload: z.strictObject({ upload_id: z.string() }) } as const

export const indexRef = {
  type: "knowledge.index",
  /** `vectors`: of items that were indexed without. */
  payload: z.strictObject({ vectors: z.boolean().optional() }),
  retry: { max_attempts: 20, initial_delay_ms: 200, factor: 2, max_delay_ms: 60_000 },
  timeoutMs: 600_000,
} as const
