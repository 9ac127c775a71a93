// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  model_not_configured: {
    codes: ["failed_precondition"],
    summary: "The operation needs a model, and none is configured for its purpose.",
    details: { setting: "The setting that names one." },
  },
  model_declined: { codes: ["failed_precondition"], summary: "The model declined to answer." },
  model_malformed: { codes: ["failed_precondition"], summary: "The model's answer has not the form that was asked for." },
  model_rejected: {
    codes: ["failed_precondition"],
    summary: "The model's provider rejected the call: its key, its model's name or its form.",
    details: { status: "The provider's HTTP status." },
  },
  model_unavailable: { codes: ["unavailable"], summary: "The model's provider could not be reached, failed, or limits the rate of calls." },
  model_timeout: { codes: ["deadline_exceeded"], summary: "The model did not answer in time." },
  model_queue_full: { codes: ["resource_exhausted"], summary: "Too many calls of models wait on this node." },
  model_call_budget: {
    codes: ["resource_exhausted"],
    summary: "The call may cost more than one call may.",
    details: { estimate_millicents: "What it may cost.", max_millicents: "What it may cost at most." },
  },
  model_day_budget: {
    codes: ["resource_exhausted"],
    summary: "What the organization's calls of models may cost in a day (UTC) is spent.",
    details: { spent_millicents: "Spent today.", max_millicents: "What may be spent in a day." },
  },
})
