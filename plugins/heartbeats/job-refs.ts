// What the jobs of heartbeats are called and take, for those that enqueue them.
import { z } from "zod"

/** A beat that was lost would end the heartbeat, so it is tried until it is committed. */
export const beatRef = {
  type: "heartbeats.beat",
  payload: z.strictObject({ heartbeat_id: z.string() }),
  retry: { max_attempts: 10_000, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 60_000 },
} as const

/** Retried where what came of it could not be stored; a run that fails has ended. */
export const runRef = {
  type: "heartbeats.run",
  payload: z.strictObject({ run_id: z.string() }),
  retry: { max_attempts: 1_000, initial_delay_ms: 500, factor: 2, max_delay_ms: 60_000 },
} as const
