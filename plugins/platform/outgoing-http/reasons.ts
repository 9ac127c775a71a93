// Error reasons of this plugin (`details.reason`).
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  invalid_encoding: {
    code: "failed_precondition",
    summary: "The response's content encoding is damaged.",
    remedy: "Have the server send it unencoded.",
  },
  invalid_redirect: {
    code: "failed_precondition",
    summary: "The server redirects to an address that is not a URL.",
    remedy: "Call the address that is meant.",
  },
  body_refused: { code: "invalid_argument", summary: "The request body cannot be sent.", details: { fields: FieldProblems } },
  connection_failed: {
    code: "unavailable",
    summary: "The server could not be reached.",
    details: { cause: z.string().optional().describe("The error's own code.") },
  },
  cross_origin_redirect: {
    code: "failed_precondition",
    summary: "The server redirects to another origin.",
    remedy: "Call the address that it redirects to.",
  },
  unexpected_encoding: {
    code: "failed_precondition",
    summary: "The response has a content encoding that was not requested.",
    remedy: "Have the server send gzip, br or nothing.",
  },
  header_refused: { code: "invalid_argument", summary: "A header is not allowed.", details: { fields: FieldProblems } },
  method_refused: { code: "invalid_argument", summary: "The method is not allowed." },
  redirect_downgrade: {
    code: "failed_precondition",
    summary: "The server redirects from https to http.",
    remedy: "Call an address whose redirects stay on https.",
  },
  response_too_large: {
    code: "resource_exhausted",
    summary: "The response is too large.",
    remedy: "Ask for less.",
    details: { max_bytes: z.int().describe("The limit, in bytes.") },
  },
  too_many_redirects: { code: "failed_precondition", summary: "The server redirects too often.", remedy: "Call the last address." },
  unexpected_status: {
    code: "failed_precondition",
    summary: "The server responded with an error status that a repeat would not change.",
    remedy: "See what the server expects.",
    details: { status: z.int().describe("The status.") },
  },
  url_refused: { code: "invalid_argument", summary: "The URL is not allowed.", details: { fields: FieldProblems } },
  receiver_unavailable: {
    code: "unavailable",
    summary: "The server responded 408, 425, 429 or 5xx.",
    details: { status: z.int().describe("The status.") },
  },
  address_refused: {
    code: "failed_precondition",
    summary: "The address is of a network that may not be called.",
    remedy: "Allow the host in `outgoing.allow_hosts`.",
    details: { host: z.string().describe("The host."), range: z.string().optional().describe("The range of its address.") },
  },
  no_descriptors: {
    code: "unavailable",
    summary: "This service has no file descriptor left; the receiver was not called.",
    remedy: "Raise the service's limit of open files.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
