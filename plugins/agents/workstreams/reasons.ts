// Values of `details.reason` in this plugin's errors.

import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"
import { WorkstreamTemplates } from "./templates.ts"

export const reasons = defineReasons({
  workstream_not_found: { code: "not_found", summary: "The organization has no such workstream.", remedy: "List the workstreams." },
  workstream_part_not_found: { code: "not_found", summary: "The workstream has no such phase, assignment, decision or resource." },
  ...WorkstreamTemplates.reasons,
  assignee_not_found: {
    code: "not_found",
    summary: "The organization has no such agent, and no such member.",
    remedy: "Give the key of an agent, or `human:` and the id of a member.",
  },
  workstream_archived: { code: "failed_precondition", summary: "The workstream is archived, and is changed no more." },
  workstream_full: {
    code: "failed_precondition",
    summary: "The workstream has as many parts of the kind as it may.",
    details: { max: z.int().describe("How many it may have.") },
  },
  workstream_budget_spent: {
    code: "resource_exhausted",
    summary: "What the workstream's calls of models may cost is spent.",
    remedy: "Raise `token_budget_millicents` of the workstream.",
    details: { spent_millicents: z.number().describe("Spent."), budget_millicents: z.number().describe("What may be spent.") },
  },
  escalations_spent: {
    code: "resource_exhausted",
    summary: "The workstream was escalated as often today (UTC) as it may.",
    remedy: "Wait until tomorrow, or raise `escalation_budget_per_day`.",
    details: { budget_per_day: z.int().describe("How often it may be escalated in a day.") },
  },
  duplicate_external_refs: {
    code: "invalid_argument",
    summary: "An object of a provider is listed twice.",
    details: { fields: FieldProblems },
  },
  for_persons: {
    code: "permission_denied",
    summary: "Only a person may let agents and services decide in place of persons.",
    remedy: "Sign in, or use a key of a user by REST or command.",
    details: { fields: FieldProblems },
  },
  unknown_template_phase: {
    code: "invalid_argument",
    summary: "An assignment of a template names a phase that the template does not have, or a slug occurs twice.",
    details: { fields: FieldProblems },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
