// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  ambiguous_connection: { codes: ["failed_precondition"], summary: "Several connections match; name one." },
  integration_unusable: { codes: ["failed_precondition"], summary: "The integration cannot be used now." },
  invalid_credentials: { codes: ["invalid_argument"], summary: "The credentials are not valid for the app." },
  integration_not_found: { codes: ["failed_precondition", "not_found"], summary: "There is no such integration." },
  nothing_to_rotate: { codes: ["not_found"], summary: "There is no connection to rotate credentials of." },
  request_refused: { codes: ["failed_precondition"], summary: "The app refused the request." },
  unknown_app: { codes: ["invalid_argument"], summary: "There is no such app." },
})
