// Values of `details.reason` in errors of this plugin.
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"
import { PageResource } from "./page.ts"

export const reasons = defineReasons({
  form_not_connected: {
    code: "not_found",
    summary: "No active pipeline takes the page's form.",
    remedy: "Make a pipeline of purpose `record_capture` for the page.",
  },
  no_variants: { code: "failed_precondition", summary: "The page has no variant to publish.", remedy: "Give the page a variant." },
  ...PageResource.reasons,
  unknown_variant: { code: "invalid_argument", summary: "The page has no such variant.", details: { fields: FieldProblems } },
  variant_not_found: {
    code: "not_found",
    summary: "The page does not show this variant.",
    remedy: "Use a variant that the message names.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
