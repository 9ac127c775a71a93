// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  experiment_not_found: { codes: ["not_found"], summary: "The organization has no such experiment." },
  persona_not_found: { codes: ["not_found"], summary: "The organization has no such persona." },
  observation_not_found: { codes: ["not_found"], summary: "The experiment has no such observation." },
  wrong_status: {
    codes: ["failed_precondition"],
    summary: "The experiment's status does not allow this.",
    details: { status: "The status." },
  },
  variant_unknown: {
    codes: ["invalid_argument"],
    summary: "The experiment has no such variant.",
    details: { fields: "Path and message of each." },
  },
  variants_missing: { codes: ["failed_precondition"], summary: "Too few variants of the experiment are variants of its page." },
  page_not_published: { codes: ["failed_precondition"], summary: "The experiment's page is not published." },
  panel_too_large: { codes: ["invalid_argument"], summary: "The panel has more cells than a panel may." },
  persona_unknown: {
    codes: ["invalid_argument"],
    summary: "The organization has no such persona.",
    details: { fields: "Path and message of each." },
  },
  personas_missing: { codes: ["failed_precondition"], summary: "A panel needs personas, and the organization has none." },
  run_gone: { codes: ["failed_precondition"], summary: "The panel or tournament is gone." },
  feedback_needs_user: { codes: ["failed_precondition"], summary: "Feedback is a person's, and the key is of a service." },
  image_not_found: { codes: ["invalid_argument"], summary: "The organization has no image under this bucket key." },
})
