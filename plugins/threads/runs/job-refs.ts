// What the jobs of runs are called and take, for those that enqueue them.
import { z } from "zod"

const payload = z.strictObject({ run_id: z.string(), attempt_number: z.int() })

export const runRef = {
  type: "agents.run",
  payload,
  retry: { max_attempts: 4, initial_delay_ms: 2_000, factor: 4, max_delay_ms: 60_000 },
  // Longer than an agent may take.
  timeoutMs: 330_000,
} as const

export const expireRef = { type: "agents.run_expire", payload } as const
