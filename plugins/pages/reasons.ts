// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  form_not_connected: { codes: ["not_found"], summary: "No active pipeline takes the page's form." },
  no_variants: { codes: ["failed_precondition"], summary: "The page has no variant to publish." },
  page_not_found: { codes: ["not_found"], summary: "There is no such page." },
  unknown_variant: { codes: ["invalid_argument", "not_found"], summary: "The page has no such variant." },
})
