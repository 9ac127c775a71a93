// Error reasons of this plugin (`details.reason`).
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  job_not_found: { code: "not_found", summary: "The job does not exist: it never did, or is done.", remedy: "List the jobs." },
  not_dead: { code: "failed_precondition", summary: "The job is not dead.", remedy: "Wait until the job is done or dead." },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
