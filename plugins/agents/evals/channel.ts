// The live channel of evals.
import { defineChannel } from "#core"

export const evalsChannel = defineChannel({
  name: "evals",
  scope: "evals:read",
  summary: "Runs of eval suites as they begin, judge and end, and alarms of the widget canary.",
})
