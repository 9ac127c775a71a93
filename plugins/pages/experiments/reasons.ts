// Values of `details.reason` in errors of this plugin.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"
import { ExperimentResource } from "./experiment.ts"
import { Personas } from "./personas.ts"

export const reasons = defineReasons({
  ...ExperimentResource.reasons,
  ...Personas.reasons,
  observation_not_found: {
    code: "not_found",
    summary: "The experiment has no such observation.",
    remedy: "List the experiment's observations.",
  },
  wrong_status: {
    code: "failed_precondition",
    summary: "The experiment's status does not allow this.",
    remedy: "Change the experiment's status first.",
    details: { status: z.string().describe("The status.") },
  },
  variant_unknown: { code: "invalid_argument", summary: "The experiment has no such variant.", details: { fields: FieldProblems } },
  variants_missing: {
    code: "failed_precondition",
    summary: "Too few variants of the experiment are variants of its page.",
    remedy: "Give the page the variants of the experiment.",
  },
  page_not_published: { code: "failed_precondition", summary: "The experiment's page is not published.", remedy: "Publish the page." },
  panel_too_large: {
    code: "invalid_argument",
    summary: "The panel has more cells than a panel may.",
    remedy: "Ask for fewer personas, variants or draws.",
    details: { fields: FieldProblems },
  },
  persona_unknown: { code: "invalid_argument", summary: "The organization has no such persona.", details: { fields: FieldProblems } },
  personas_missing: {
    code: "failed_precondition",
    summary: "A panel needs personas, and the organization has none.",
    remedy: "Create personas.",
  },
  feedback_needs_user: {
    code: "failed_precondition",
    summary: "Feedback comes from a person or an agent, and the caller is a service.",
    remedy: "Sign in, or use a key of a user.",
  },
  image_not_found: {
    code: "invalid_argument",
    summary: "The organization has no image under this bucket key.",
    details: { fields: FieldProblems },
  },
  floor_too_high: {
    code: "invalid_argument",
    summary: "The least shares of all variants together are more than all visitors.",
    details: { fields: FieldProblems },
  },
  too_many_counts: { code: "resource_exhausted", summary: "The experiment's counts are too many for one query." },
  decision_needs_user: {
    code: "failed_precondition",
    summary: "A person decides an experiment, and the caller is an agent or a service.",
    remedy: "Sign in, or use a key of a user by REST or command.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
