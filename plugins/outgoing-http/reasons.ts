// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  invalid_encoding: { codes: ["failed_precondition"], summary: "The response's content encoding is damaged." },
  invalid_redirect: { codes: ["failed_precondition"], summary: "The server redirects to an address that is not a URL." },
  body_refused: { codes: ["invalid_argument"], summary: "The request body cannot be sent." },
  connection_failed: { codes: ["failed_precondition", "unavailable"], summary: "The server could not be reached." },
  cross_origin_redirect: { codes: ["failed_precondition"], summary: "The server redirects to another origin." },
  unexpected_encoding: { codes: ["failed_precondition"], summary: "The response has a content encoding that was not requested." },
  header_refused: { codes: ["invalid_argument"], summary: "A header is not allowed." },
  method_refused: { codes: ["invalid_argument"], summary: "The method is not allowed." },
  redirect_downgrade: { codes: ["failed_precondition"], summary: "The server redirects from https to http." },
  response_too_large: { codes: ["resource_exhausted"], summary: "The response is too large." },
  too_many_redirects: { codes: ["failed_precondition"], summary: "The server redirects too often." },
  unexpected_status: { codes: ["failed_precondition"], summary: "The server responded with an error status." },
  url_refused: { codes: ["invalid_argument"], summary: "The URL is not allowed." },
})
