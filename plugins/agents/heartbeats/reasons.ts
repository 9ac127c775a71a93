// Values of `details.reason` in this plugin's errors.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"
import { HeartbeatResource } from "./heartbeat.ts"

export const reasons = defineReasons({
  ...HeartbeatResource.reasons,
  heartbeat_run_not_found: { code: "not_found", summary: "The heartbeat has no such run, or its record has expired." },
  heartbeat_running: {
    code: "failed_precondition",
    summary: "A run of the heartbeat has not ended; it runs one at a time.",
    remedy: "Wait until it has ended.",
    details: { run_id: z.string().describe("The run that has not ended.") },
  },
  too_many_heartbeats: {
    code: "resource_exhausted",
    summary: "The organization has as many heartbeats as it may.",
    remedy: "Delete some, or raise the limit in the settings.",
  },
  heartbeat_refused: {
    code: "invalid_argument",
    summary: "The heartbeat's fields do not go together: those of its kind, its window, its script, its pipeline or its tools.",
    details: { fields: FieldProblems },
  },
  heartbeat_beyond_caller: {
    code: "permission_denied",
    summary: "The heartbeat would do what its maker may not.",
    remedy: "Use a credential that may, or give the heartbeat less.",
    details: { fields: FieldProblems },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
