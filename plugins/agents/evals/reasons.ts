// Values of `details.reason` in this plugin's errors.
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"
import { EvalCases, EvalSuites } from "./suites.ts"

export const reasons = defineReasons({
  ...EvalSuites.reasons,
  ...EvalCases.reasons,
  case_source_not_found: { code: "not_found", summary: "What a case was to be made of does not exist, or is not stored any more." },
  run_not_found: { code: "not_found", summary: "The suite has no such run." },
  run_not_finished: { code: "failed_precondition", summary: "The run is not finished." },
  run_too_large: { code: "failed_precondition", summary: "Cases x repeats are more than a run may have." },
  suite_empty: { code: "failed_precondition", summary: "The suite has no cases." },
  suite_full: {
    code: "failed_precondition",
    summary: "The suite has as many cases as a suite may.",
    remedy: "Remove cases, or make another suite.",
  },
  suite_without_agent: {
    code: "failed_precondition",
    summary: "The suite names no agent, or an agent that the organization does not have.",
    remedy: "Name an agent of the organization; GET /v1/agents lists them.",
    details: { fields: FieldProblems },
  },
  widget_incomplete: {
    code: "invalid_argument",
    summary: "A widget canary needs the address of the widget's page, its name and its selector.",
    details: { fields: FieldProblems },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
