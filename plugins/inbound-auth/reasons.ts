// Error reasons of this plugin: stable words in `details.reason`.
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  invalid_auth_config: {
    code: "invalid_argument",
    summary: "The auth mode's configuration is not valid.",
    details: { fields: FieldProblems },
  },
  unusable_secret: {
    code: "invalid_argument",
    summary: "The secret's format is not valid.",
    details: { fields: FieldProblems.optional() },
  },
  request_not_signable: { code: "invalid_argument", summary: "The request lacks what its signature covers." },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
