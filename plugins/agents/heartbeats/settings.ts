// What an operator sets of heartbeats.
import { z } from "zod"
import { token } from "#core"

export const HeartbeatSettings = z.strictObject({
  runs_days: z.int().min(1).max(3_650).default(30).describe("Days that the record of a run is kept."),
  max_per_organization: z.int().min(1).max(10_000).default(1_000).describe("Heartbeats that an organization may have."),
  slots: z.int().min(1).max(256).default(8).describe("Runs at once on a node; organizations take turns."),
  max_calls_per_turn: z
    .int()
    .min(1)
    .max(50)
    .default(20)
    .describe("Calls of tools in one turn of a model. Further calls of the turn are refused."),
  run_timeout_ms: z.int().min(10_000).max(3_600_000).default(600_000).describe("Time limit of one run."),
})

export type HeartbeatSettings = z.output<typeof HeartbeatSettings>

/** Heartbeats that an organization may have. */
export const HeartbeatLimit = token<number>("heartbeat limit")
