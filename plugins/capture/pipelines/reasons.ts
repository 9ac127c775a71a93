// Error reasons of this plugin: stable words in `details.reason`.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

/** `details.findings`: the compiler's findings in a document. */
const Findings = z.array(
  z.object({
    rule: z.string(),
    level: z.enum(["error", "warning"]),
    message: z.string(),
    pointer: z.string(),
    line: z.int().optional(),
    column: z.int().optional(),
    inside: z
      .object({ line: z.int(), column: z.int() })
      .optional()
      .describe("Place within the text that the pointer names, such as a script."),
  }),
)

export const reasons = defineReasons({
  compile_failed: {
    code: "invalid_argument",
    summary: "The pipeline's document does not compile.",
    remedy: "Correct what the findings name.",
    details: { fields: FieldProblems, findings: Findings.describe("What was found, as `validate` gives it.") },
  },
  connection_missing: {
    code: "failed_precondition",
    summary: "The pipeline would be active with a step whose integration is missing or private.",
    remedy: "Connect or share the integration, or save with `force`.",
    details: { fields: FieldProblems },
  },
  persons_only: {
    code: "permission_denied",
    summary: "Only a person may do this, not an agent or a service.",
    remedy: "Ask a person to do it by REST, command or console.",
    details: { fields: FieldProblems },
  },
  event_pipeline_not_found: { code: "not_found", summary: "The event pipeline does not exist.", remedy: "List the pipelines." },
  no_fields: { code: "invalid_argument", summary: "No field to change was given.", remedy: "Give a field to change." },
  reserved_pipeline: {
    code: "invalid_argument",
    summary: "This field of a pipeline that the service made is read-only.",
    remedy: "Leave these fields as they are.",
    details: { fields: FieldProblems },
  },
  person_needed: {
    code: "permission_denied",
    summary: "An agent cannot take a step from its gate.",
    remedy: "Ask a person to change the pipeline.",
    details: { step: z.string().describe("Id of the step.") },
  },
  secret_not_found: {
    code: "not_found",
    summary: "The pipeline has no such secret, or it has ended.",
    remedy: "List the pipeline's secrets.",
  },
  secret_current: {
    code: "failed_precondition",
    summary: "The pipeline's current secret cannot be ended.",
    remedy: "Rotate the secret, then end the old one.",
  },
  secret_in_use: {
    code: "failed_precondition",
    summary: "The secret verified events in the last hour, which would have failed without it.",
    remedy: "Move the senders to the new secret, or end it with `force`.",
    details: {
      verified_last_hour: z.int().describe("Events of the last hour that it verified."),
      last_verified_at: z.string().nullable().describe("When it last verified one."),
      addresses: z.array(z.string()).describe("Where they came from."),
    },
  },
  secret_use_unknown: {
    code: "failed_precondition",
    summary: "The service does not count events by secret, so it is unknown whether the secret is in use.",
    remedy: "End the secret with `force`, or enable the plugin `pipeline-insights`.",
  },
  not_compiled: {
    code: "failed_precondition",
    summary: "The pipeline's stored document does not compile any more, as when an action type was removed.",
    remedy: "Validate the document, and correct what the findings name.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
