// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  bad_encoding: { codes: ["failed_precondition"], summary: "The response's encoding is damaged." },
  bad_redirect: { codes: ["failed_precondition"], summary: "The other side redirects to what is not a URL." },
  body_refused: { codes: ["invalid_argument"], summary: "The request body cannot be sent." },
  connection_failed: { codes: ["failed_precondition", "unavailable"], summary: "The other side could not be reached." },
  cross_origin_redirect: { codes: ["failed_precondition"], summary: "The other side redirects to another origin." },
  encoding_refused: { codes: ["failed_precondition"], summary: "The response has an encoding that was not asked for." },
  header_refused: { codes: ["invalid_argument"], summary: "A header may not be sent." },
  method_refused: { codes: ["invalid_argument"], summary: "The method may not be sent." },
  redirect_downgrade: { codes: ["failed_precondition"], summary: "The other side redirects from https to http." },
  response_too_large: { codes: ["resource_exhausted"], summary: "The response is larger than is read." },
  too_many_redirects: { codes: ["failed_precondition"], summary: "The other side redirects too often." },
  unexpected_status: { codes: ["failed_precondition"], summary: "The other side answered with a status that is a failure." },
  url_refused: { codes: ["invalid_argument"], summary: "The URL is refused." },
})
