// Reasons of refused operation calls, on all surfaces.
import { z } from "zod"
import { defineReasons, FieldProblems } from "./define.ts"

export const callReasons = defineReasons({
  destination_paused: {
    code: "unavailable",
    summary: "The host or mail server did not answer its last calls, so it was not called. Nothing was sent.",
    remedy: "Check that it is up. Calls go on by themselves once it answers.",
  },
  empty_body: { code: "invalid_argument", summary: "The body is empty." },
  approvals_not_loaded: {
    code: "failed_precondition",
    summary: "The operation or job may need approval, and no plugin that keeps approvals is loaded.",
    remedy: "Load the plugin `approvals`.",
  },
  body_not_an_object: { code: "invalid_argument", summary: "The body is JSON, but not an object.", remedy: "Send one JSON object." },
  body_too_complex: {
    code: "invalid_argument",
    summary: "The body holds more lists, objects or field names than are taken at once.",
    remedy: "Send it in parts.",
    details: { limit: z.int().describe("How many are taken.") },
  },
  body_too_deep: {
    code: "invalid_argument",
    summary: "The body is nested too deeply.",
    details: { limit: z.int().describe("Levels that are taken.") },
  },
  body_too_large: {
    code: "resource_exhausted",
    summary: "The body is too large.",
    remedy: "Send it in parts, or raise the limit in the settings.",
    details: { max_bytes: z.int().describe("The limit, in bytes.") },
  },
  timeout: { code: "deadline_exceeded", summary: "The deadline passed." },
  canceled: { code: "canceled", summary: "The call was canceled." },
  draining: {
    code: "unavailable",
    summary: "The service is stopping.",
    remedy: "Call again after `Retry-After`; another node, or the next start, answers.",
  },
  etag_mismatch: {
    code: "aborted",
    summary: "If-Match names a revision that is not the current one.",
    remedy: "Read the resource again, and decide again.",
    details: { current_etag: z.string().describe("The resource's ETag now."), current_revision: z.int().describe("Its revision now.") },
  },
  idempotency_key_reused: {
    code: "invalid_argument",
    summary: "The idempotency key was used for another call.",
    remedy: "Use a new key for each call; send the same body again to repeat one.",
  },
  if_match_unsupported: {
    code: "failed_precondition",
    summary: "The operation does not support If-Match.",
    remedy: "Send `expected_revision` where the operation has it, or nothing.",
  },
  if_none_match_unsupported: {
    code: "failed_precondition",
    summary: "The operation does not support If-None-Match.",
    remedy: "Leave the header out.",
  },
  internal: {
    code: "internal",
    summary: "A defect of the service.",
    remedy: "Quote the request id when you report it.",
    details: { execution_id: z.string().optional().describe("The execution, if any.") },
  },
  invalid_cursor: {
    code: "invalid_argument",
    summary: "The cursor belongs to another list, or is damaged.",
    remedy: "Start again without a cursor.",
    details: { fields: FieldProblems },
  },
  invalid_credential: {
    code: "unauthenticated",
    summary: "The credential is not the one that is expected here.",
    remedy: "Send the right one.",
  },
  invalid_fields: {
    code: "invalid_argument",
    summary: "Fields of the input are not valid; `fields` names each.",
    remedy: "Correct the fields that `fields` names.",
    details: {
      fields: FieldProblems,
      problems: z.int().optional().describe("How many there are, where `fields` names the first ones only."),
      collection: z.string().optional().describe("The collection, where a document of one was refused."),
    },
  },
  invalid_idempotency_key: {
    code: "invalid_argument",
    summary: "The idempotency key is too long, or not printable ASCII.",
    remedy: "Send 1 to 255 characters of printable ASCII.",
  },
  malformed_body: {
    code: "invalid_argument",
    summary: "The body is not JSON, or not the form that its Content-Type says.",
    details: {
      offset: z.int().optional().describe("Position of the first character that is not JSON."),
      line: z.int().optional().describe("Its line."),
      column: z.int().optional().describe("Its column."),
      fields: FieldProblems.optional(),
    },
  },
  malformed_path: {
    code: "invalid_argument",
    summary: "The path holds an escape that is not UTF-8.",
    remedy: "Encode the path as UTF-8, percent-encoded.",
  },
  method_not_allowed: {
    code: "unimplemented",
    summary: "The path exists, with another method.",
    remedy: "Use a method that `allow` names.",
    details: { allow: z.array(z.string()).optional().describe("The methods that the path has.") },
  },
  missing_credential: {
    code: "unauthenticated",
    summary: "A credential is required, and none was sent.",
    remedy: "Send `Authorization: Bearer` and a key.",
  },
  missing_scope: {
    code: "permission_denied",
    summary: "The token lacks the required scope.",
    remedy: "Use a token with the scope, or a key.",
    details: {
      needed_scope: z.string().optional().describe("The required scope."),
      scopes: z.array(z.string()).describe("The scopes that there are."),
    },
  },
  multiple_credentials: { code: "invalid_argument", summary: "The request has several Authorization headers.", remedy: "Send one." },
  not_utf8: { code: "invalid_argument", summary: "The body is not valid UTF-8.", remedy: "Encode the body as UTF-8." },
  origin_not_allowed: {
    code: "permission_denied",
    summary: "Calls from pages of other origins are not allowed.",
    remedy: "Call from a server, or allow the origin in the settings.",
  },
  outcome_unknown: {
    code: "failed_precondition",
    summary: "The node that ran the first call with this idempotency key died before it answered.",
    remedy: "Look whether it was done before you call again with a new key.",
  },
  path_field_mismatch: {
    code: "invalid_argument",
    summary: "A field contradicts the path.",
    remedy: "Leave the field out of the body.",
    details: { fields: FieldProblems },
  },
  batch_too_large: {
    code: "resource_exhausted",
    summary: "The answers of an MCP batch have reached their limit; the remaining messages were not run.",
    remedy: "Send smaller batches, or one message a request.",
    details: { max_characters: z.int().describe("Characters that the answers of a batch may have.") },
  },
  unknown_tool: {
    code: "not_found",
    summary: "The MCP connection offers no tool of this name.",
    remedy: "Find a tool with `search_tools`, or add its toolset to the URL.",
    details: { tool: z.string().describe("The name.") },
  },
  unknown_toolset: {
    code: "invalid_argument",
    summary: "The URL of MCP names a toolset that does not exist.",
    remedy: "Name toolsets of `details.toolsets`.",
    details: { toolset: z.string().describe("The name."), toolsets: z.array(z.string()).describe("Toolsets that exist.") },
  },
  wrong_call_tool: {
    code: "invalid_argument",
    summary: "A call tool of MCP was given a tool of another kind.",
    remedy: "Use `details.call_tool`.",
    details: { call_tool: z.string().describe("The call tool of this tool.") },
  },
  too_many_exports: {
    code: "resource_exhausted",
    summary: "Too many exports of the organization are running and waiting.",
    remedy: "Wait for `Retry-After`, or for an export to end.",
  },
  rate_limited: {
    code: "resource_exhausted",
    summary: "The rate limit is exceeded; Retry-After says for how long.",
    remedy: "Wait for `Retry-After`.",
    details: {
      quota: z.string().describe("Which limit."),
      limit: z.int().describe("Calls that it takes."),
      window_s: z.number().describe("In how many seconds."),
      retry_after_s: z.number().describe("Seconds until it takes another."),
    },
  },
  read_only_field: {
    code: "invalid_argument",
    summary: "A read-only field was given another value.",
    remedy: "Leave the field out, or send its value as it is.",
    details: { fields: FieldProblems },
  },
  revision_mismatch: {
    code: "aborted",
    summary: "The expected revision is not the current one.",
    remedy: "Read the document again, and decide again.",
    details: {
      current_revision: z.unknown().describe("The revision now."),
      collection: z.string().optional().describe("The collection."),
      id: z.string().optional().describe("The document."),
      slug: z.string().optional().describe("Its slug."),
    },
  },
  closed_to_agents: {
    code: "permission_denied",
    summary: "An agent may not do this: a token of the kind `agent`, an MCP client or a heartbeat.",
    remedy: "Ask a person to do it.",
  },
  no_organization: {
    code: "permission_denied",
    summary: "The session of the person acts in no organization.",
    remedy: "Ask for an invitation, create an organization, or choose one of yours.",
  },
  role_too_low: {
    code: "permission_denied",
    summary: "The role may not do this.",
    remedy: "Use a key with the role.",
    details: {
      needed_role: z.string().optional().describe("The required role."),
      role: z.string().optional().describe("The role that the key acts with."),
    },
  },
  secret_shown_once: {
    code: "failed_precondition",
    summary: "The first response to this call held a secret that is not shown again.",
    remedy: "Rotate the secret, or revoke the key and create another.",
    details: { omitted: z.array(z.string()).describe("The fields that were left out.") },
  },
  operator_only: {
    code: "permission_denied",
    summary: "The field or operation is for the operator of the service, or the operator's credential is for another operation.",
    remedy: "Leave the field out, or ask the operator.",
  },
  sign_in_again: {
    code: "permission_denied",
    summary: "The operation needs a person who signed in within the last five minutes.",
    remedy: "Sign in again, and repeat the call.",
  },
  slug_taken: {
    code: "already_exists",
    summary: "The slug is taken.",
    remedy: "Choose another slug.",
    details: { fields: FieldProblems.optional(), slug: z.string().optional().describe("The slug.") },
  },
  staff_only: { code: "permission_denied", summary: "Only staff may do this.", remedy: "Ask a member of the service's staff." },
  still_running: {
    code: "aborted",
    summary: "The first call with this idempotency key is still running.",
    remedy: "Wait, and repeat the call with the same key.",
  },
  too_many_fields: {
    code: "invalid_argument",
    summary: "A form, or an object in a body, has too many fields.",
    details: { max_fields: z.int().optional().describe("How many are taken.") },
  },
  transition_guarded: {
    code: "failed_precondition",
    summary: "The transition exists, and what it needs is not so; `guard` names it.",
    details: {
      machine: z.string().describe("What has the state."),
      state: z.string().describe("The state that it is in."),
      event: z.string().describe("What was asked for."),
      possible: z.array(z.string()).describe("The events that the state has."),
      guard: z.string().describe("What does not hold."),
    },
  },
  transition_impossible: {
    code: "failed_precondition",
    summary: "The state has no such transition; `possible` names those that it has.",
    details: {
      machine: z.string().describe("What has the state."),
      state: z.string().describe("The state that it is in."),
      event: z.string().describe("What was asked for."),
      possible: z.array(z.string()).describe("The events that the state has."),
    },
  },
  unavailable: { code: "unavailable", summary: "The service is temporarily unavailable." },
  unexpected_query: {
    code: "invalid_argument",
    summary: "The operation reads its fields from the body, not from the query.",
    remedy: "Send the fields in the body.",
    details: { fields: FieldProblems },
  },
  unknown_path: { code: "not_found", summary: "No operation or page is at this path.", remedy: "Look the path up in the API reference." },
  unsupported_charset: { code: "invalid_argument", summary: "The body's charset is not UTF-8.", remedy: "Send UTF-8." },
  unsupported_content_encoding: {
    code: "invalid_argument",
    summary: "The Content-Encoding is not supported.",
    remedy: "Send gzip, deflate, br, or an unencoded body.",
  },
  unsupported_content_type: {
    code: "invalid_argument",
    summary: "The Content-Type is not supported.",
    remedy: "Send a type that the endpoint takes.",
  },
})
