// Values of `details.reason` in this plugin's errors.
import { z } from "zod"
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  model_not_configured: {
    code: "failed_precondition",
    summary: "The operation needs a model, and none is configured for its purpose.",
    remedy: "Set what `setting` names.",
    details: { setting: z.string().describe("The setting that names one.") },
  },
  model_declined: { code: "failed_precondition", summary: "The model declined to answer.", remedy: "Ask otherwise, or another model." },
  model_malformed: {
    code: "failed_precondition",
    summary: "The model's answer has not the form that was asked for.",
    remedy: "Retry, or use another model.",
  },
  model_rejected: {
    code: "failed_precondition",
    summary: "The model's provider rejected the call: its key, its model's name or its form.",
    remedy: "Correct the key, the model's name or the request.",
    details: { status: z.number().optional().describe("The provider's HTTP status.") },
  },
  model_unavailable: { code: "unavailable", summary: "The model's provider could not be reached, failed, or limits the rate of calls." },
  model_timeout: { code: "deadline_exceeded", summary: "The model did not answer in time." },
  model_queue_full: {
    code: "resource_exhausted",
    summary: "Too many calls of models wait on this node.",
    remedy: "Retry after `Retry-After`.",
  },
  model_call_budget: {
    code: "resource_exhausted",
    summary: "The call may cost more than one call may.",
    remedy: "Ask for less, or raise the limit in the settings.",
    details: {
      estimate_millicents: z.number().describe("What it may cost."),
      max_millicents: z.number().describe("What it may cost at most."),
    },
  },
  model_day_budget: {
    code: "resource_exhausted",
    summary: "What the organization's calls of models may cost in a day (UTC) is spent.",
    remedy: "Wait until the next day (UTC), or raise the limit in the settings.",
    details: { spent_millicents: z.number().describe("Spent today."), max_millicents: z.number().describe("What may be spent in a day.") },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
