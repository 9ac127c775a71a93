// Reasons of failures in clients, the command and the job queue.
import { z } from "zod"
import { defineReasons, FieldProblems } from "./define.ts"

export const otherReasons = defineReasons({
  client_canceled: { code: "canceled", summary: "The caller aborted the call." },
  client_timeout: { code: "deadline_exceeded", summary: "The client's own deadline passed." },
  command_line: { code: "invalid_argument", summary: "The command line is wrong.", remedy: "See the command's `--help`." },
  invalid_base_url: {
    code: "invalid_argument",
    summary: "The client's base URL is not an http(s) URL.",
    remedy: "Give an address such as `http://127.0.0.1:8080`.",
  },
  invalid_option: {
    code: "invalid_argument",
    summary: "An option's value is not valid.",
    details: { option: z.string().optional().describe("The option."), fields: FieldProblems.optional() },
  },
  job_failed: { code: "failed_precondition", summary: "A job failed permanently.", remedy: "See the job's last error." },
  no_response: {
    code: "unavailable",
    summary: "The service could not be reached.",
    remedy: "Check the address, and that the service runs.",
  },
  not_json: { code: "unknown", summary: "The response is not JSON.", remedy: "Check the address." },
  response_truncated: {
    code: "unavailable",
    summary: "The response ended before it was complete.",
    details: { bytes: z.int().describe("Bytes that came.") },
  },
  secret_lost: {
    code: "data_loss",
    summary: "The response with a secret that is shown once was lost.",
    remedy: "Rotate the secret, or revoke the key and create another.",
    details: { answer: z.unknown().describe("The answer without the secret.") },
  },
  unknown_operation: {
    code: "unimplemented",
    summary: "The client, or a loaded plugin, declares no such operation.",
    remedy: "Update the client.",
  },
  unrecognized_response: {
    code: "unknown",
    summary: "The response is not one of this service; its code follows the HTTP status.",
    remedy: "Check the address; a proxy may stand between.",
  },
})
