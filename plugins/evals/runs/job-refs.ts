// What the jobs of runs are called and take, for those that enqueue them.
import { z } from "zod"

export const runRef = {
  type: "evals.run",
  payload: z.strictObject({ run_id: z.string() }),
  retry: { max_attempts: 4, initial_delay_ms: 2_000, factor: 4, max_delay_ms: 60_000 },
  // 2,000 answers of a slow agent, four at once.
  timeoutMs: 7_200_000,
} as const

export const nightlyRef = {
  type: "evals.nightly",
  payload: z.strictObject({ suite_id: z.string() }),
  retry: { max_attempts: 3, initial_delay_ms: 60_000, factor: 4, max_delay_ms: 600_000 },
} as const
