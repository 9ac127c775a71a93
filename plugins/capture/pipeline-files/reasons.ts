// Error reasons of planned and applied documents.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  stale_plan: { code: "aborted", summary: "Pipelines changed between planning and applying; plan again.", remedy: "Apply again." },
  documents_refused: {
    code: "failed_precondition",
    summary: "Documents are not valid; findings tell why.",
    remedy: "Correct what the findings name.",
    details: { pipelines: z.array(z.string()).describe("Slugs of the pipelines.") },
  },
  drift: {
    code: "failed_precondition",
    summary: "The stored pipeline was changed since the file was applied.",
    remedy: "Apply with `force`, or take the change into the file.",
    details: { pipelines: z.array(z.string()).describe("Slugs of the pipelines.") },
  },
  invalid_document: { code: "invalid_argument", summary: "The document is not a pipeline document.", details: { fields: FieldProblems } },
  literal_secret: {
    code: "invalid_argument",
    summary: "A file holds a secret in plain text.",
    remedy: "Write `{ from_env: NAME }`, and set the variable.",
    details: { fields: FieldProblems.optional() },
  },
  duplicate_slug: {
    code: "invalid_argument",
    summary: "Two documents have one slug.",
    remedy: "Give each document a slug of its own.",
    details: { slug: z.string().describe("The slug.") },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
