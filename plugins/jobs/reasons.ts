// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  job_not_found: { codes: ["not_found"], summary: "There is no such job; it never was, or it is done." },
  not_dead: { codes: ["failed_precondition"], summary: "The job is not dead." },
  pipeline_gone: { codes: ["failed_precondition"], summary: "The job's pipeline is gone." },
})
