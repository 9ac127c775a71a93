// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  not_dead: { codes: ["failed_precondition"], summary: "The job is not dead." },
  pipeline_gone: { codes: ["failed_precondition"], summary: "The job's pipeline is gone." },
})
