// The registry of reasons: every stable word that `details.reason` of an error can hold, with the codes it comes with and
// what it means. Programs switch on these words, so a word means one thing wherever it is thrown. A plugin registers its
// own in the `reasons` of its `definePlugin`.
import type { ErrorCode } from "./errors.ts"

/** What a reason of an error stands for: its code, its details by name, and a sentence for the reference. */
export interface ReasonSpec {
  /** Codes that an error with this reason can have. */
  readonly codes: readonly [ErrorCode, ...ErrorCode[]]
  /** One sentence: what happened. */
  readonly summary: string
  /** Further fields of `details`, beside `reason`: name and what it holds. */
  readonly details?: Readonly<Record<string, string>>
}

/** Reasons by their word, as a plugin declares its own. */
export type Reasons = Readonly<Record<string, ReasonSpec>>

/** Declares reasons, checked as they stand. */
export function defineReasons<const R extends Reasons>(reasons: R): R {
  return reasons
}

/** What core itself throws. */
export const coreReasons = defineReasons({
  action_error: { codes: ["unknown"], summary: "An action threw an error that it does not declare." },
  action_failed: {
    codes: ["internal"],
    summary: "A step before the reply failed; the journal entry says why.",
    details: { execution_id: "The execution.", step: "Id of the step." },
  },
  attempt_timeout: { codes: ["deadline_exceeded"], summary: "An attempt of a job or a step timed out." },
  document_not_found: {
    codes: ["not_found"],
    summary: "A document that was to be changed does not exist.",
    details: { collection: "The collection." },
  },
  duplicate_value: {
    codes: ["already_exists"],
    summary: "Another document has the same value of a unique field.",
    details: { collection: "The collection." },
  },
  execution_gone: { codes: ["failed_precondition"], summary: "The pipeline or the journal entry of the execution was deleted." },
  invalid_expression_value: {
    codes: ["failed_precondition"],
    summary: "A template expression rendered to a value of the wrong type for its field.",
  },
  invalid_rendered_value: { codes: ["invalid_argument"], summary: "A rendered value is not valid for the action's field." },
  body_too_complex: {
    codes: ["invalid_argument"],
    summary: "The body holds more lists, objects or field names than are taken at once.",
    details: { limit: "How many are taken." },
  },
  body_too_deep: { codes: ["invalid_argument"], summary: "The body is nested too deeply." },
  body_too_large: {
    codes: ["resource_exhausted"],
    summary: "The body is too large.",
    details: { max_bytes: "The limit, in bytes." },
  },
  canceled: { codes: ["canceled"], summary: "The call was canceled." },
  client_canceled: { codes: ["canceled"], summary: "The caller aborted the call." },
  client_timeout: { codes: ["deadline_exceeded"], summary: "The client's own deadline passed." },
  command_line: { codes: ["invalid_argument"], summary: "The command line is wrong." },
  commit_refused: {
    codes: ["internal"],
    summary: "A write of the pipeline failed; the journal entry says why.",
    details: { execution_id: "The execution." },
  },
  condition_not_met: {
    codes: ["aborted"],
    summary: "A document no longer matches the condition of the write.",
    details: { collection: "The collection.", id: "The document." },
  },
  no_descriptors: { codes: ["unavailable"], summary: "This service has no file descriptor left; the receiver was not called." },
  response_truncated: { codes: ["unavailable"], summary: "The response ended before it was complete." },
  dedupe_key: { codes: ["invalid_argument"], summary: "The deduplication key cannot be rendered from the event." },
  document_too_large: { codes: ["invalid_argument"], summary: "A document is too large for the store." },
  document_unreadable: { codes: ["data_loss"], summary: "A stored document cannot be read." },
  compile_failed: {
    codes: ["failed_precondition", "invalid_argument"],
    summary: "The pipeline does not compile with the plugins that are loaded.",
  },
  draining: { codes: ["unavailable"], summary: "The service is stopping." },
  empty_body: { codes: ["invalid_argument"], summary: "The body is empty." },
  endpoint_only: { codes: ["failed_precondition"], summary: "The pipeline takes events at its own endpoint only." },
  etag_mismatch: { codes: ["aborted"], summary: "If-Match names a revision that is not the current one." },
  signing_unsupported: { codes: ["unimplemented"], summary: "The auth mode cannot sign test events." },
  storage_full: { codes: ["unavailable"], summary: "The disk is full, or the data file has reached its maximum size." },
  streaming_unsupported: { codes: ["unimplemented"], summary: "The operation answers a stream, which MCP does not carry." },
  undeclared_job: { codes: ["unimplemented"], summary: "The job is not declared by any loaded plugin." },
  unrecognized_response: { codes: ["unknown"], summary: "The response is not one of this service." },
  origin_not_allowed: { codes: ["permission_denied"], summary: "Calls from pages of other origins are not allowed." },
  idempotency_key_reused: { codes: ["invalid_argument"], summary: "The idempotency key was used for another call." },
  if_match_unsupported: { codes: ["failed_precondition"], summary: "The operation does not support If-Match." },
  if_none_match_unsupported: { codes: ["failed_precondition"], summary: "The operation does not support If-None-Match." },
  internal: { codes: ["internal"], summary: "A defect of the service.", details: { execution_id: "The execution, if any." } },
  invalid_base_url: { codes: ["invalid_argument"], summary: "The client's base URL is not an http(s) URL." },
  invalid_channel: { codes: ["invalid_argument"], summary: "The channel name is not valid." },
  invalid_cursor: { codes: ["invalid_argument"], summary: "The cursor belongs to another list, or is damaged." },
  invalid_fields: {
    codes: ["invalid_argument"],
    summary: "Fields of the input are not valid; `fields` names each.",
    details: { fields: "Path and message of each field." },
  },
  invalid_handshake: { codes: ["invalid_argument"], summary: "The socket's handshake is not valid." },
  invalid_idempotency_key: { codes: ["invalid_argument"], summary: "The idempotency key is too long, or not printable ASCII." },
  invalid_option: { codes: ["invalid_argument"], summary: "An option's value is not valid." },
  database_setup_failed: { codes: ["failed_precondition"], summary: "The database's collections or indexes could not be created." },
  job_failed: { codes: ["failed_precondition"], summary: "A job failed permanently." },
  malformed_body: {
    codes: ["invalid_argument"],
    summary: "The body is not JSON, or not the form that its Content-Type says.",
    details: { offset: "Position of the first character that is not JSON.", line: "Line.", column: "Column." },
  },
  malformed_path: { codes: ["invalid_argument"], summary: "The path holds an escape that is not UTF-8." },
  method_not_allowed: { codes: ["unimplemented"], summary: "The path exists, with another method." },
  missing_credential: { codes: ["unauthenticated"], summary: "A credential is required, and none was sent." },
  missing_scope: {
    codes: ["permission_denied"],
    summary: "The token lacks the required scope.",
    details: { needed_scope: "The required scope.", scopes: "The token's scopes." },
  },
  no_active_pipeline: { codes: ["not_found"], summary: "No active pipeline is at this address." },
  no_response: { codes: ["unavailable"], summary: "The service could not be reached." },
  no_fixture: { codes: ["failed_precondition"], summary: "The rehearsal has no fixture for this request." },
  no_result: { codes: ["internal"], summary: "A commit ended without a result." },
  no_secret: { codes: ["failed_precondition"], summary: "The auth mode carries no secret." },
  execution_not_found: { codes: ["not_found"], summary: "The pipeline has no execution with this id." },
  lease_lost: { codes: ["unavailable"], summary: "This node's lease has expired, so it may not act." },
  invalid_position: { codes: ["failed_precondition"], summary: "A row's position is not valid." },
  not_active: { codes: ["failed_precondition"], summary: "The pipeline is not active." },
  not_an_object: { codes: ["failed_precondition"], summary: "A value that is merged is not an object." },
  not_json: { codes: ["invalid_argument", "unknown"], summary: "The text is not JSON." },
  not_started: { codes: ["unavailable"], summary: "The store is not open." },
  not_utf8: { codes: ["invalid_argument"], summary: "The body is not valid UTF-8." },
  not_verified: {
    codes: ["failed_precondition"],
    summary: "An event that was not verified cannot be replayed.",
    details: { cause: "Why verification failed." },
  },
  nothing_to_retry: { codes: ["failed_precondition"], summary: "The execution has no dead deferred step." },
  overloaded: { codes: ["unavailable"], summary: "The queue of this resource is full." },
  path_field_mismatch: {
    codes: ["invalid_argument"],
    summary: "A field contradicts the path.",
    details: { fields: "Path and message of each field." },
  },
  payload_expired: { codes: ["failed_precondition"], summary: "The event's payload has expired." },
  penalty: { codes: ["resource_exhausted"], summary: "The pipeline's code exceeded its limits repeatedly, and is paused." },
  pipeline_changed: { codes: ["unavailable"], summary: "The pipeline was changed while the event was in flight." },
  unexpected_query: {
    codes: ["invalid_argument"],
    summary: "The operation reads its fields from the body, not from the query.",
    details: { fields: "Path and message of each field." },
  },
  rate_limited: { codes: ["resource_exhausted"], summary: "The rate limit is exceeded; Retry-After says for how long." },
  read_timeout: { codes: ["deadline_exceeded"], summary: "A read of the store timed out." },
  read_failed: { codes: ["unavailable"], summary: "A read of the store failed." },
  reply_refused: {
    codes: ["failed_precondition"],
    summary: "The pipeline's answer cannot be made of what the event holds; the journal entry tells why.",
    details: { execution_id: "The execution.", step: "Id of the step." },
  },
  reserved_channel: { codes: ["not_found", "permission_denied"], summary: "The channel is reserved for the service." },
  revision_mismatch: { codes: ["aborted"], summary: "The expected revision is not the current one." },
  role_too_low: { codes: ["permission_denied"], summary: "The role may not do this." },
  sandbox_unavailable: { codes: ["unavailable"], summary: "No sandbox process is ready." },
  schema_mismatch: {
    codes: ["invalid_argument"],
    summary: "The body does not satisfy the request schema; `fields` names where.",
    details: { fields: "Path and message of each field." },
  },
  sealed_text_corrupt: { codes: ["data_loss"], summary: "A sealed secret was tampered with, or is damaged." },
  secret_lost: { codes: ["data_loss"], summary: "The response with a secret that is shown once was lost." },
  secret_shown_once: { codes: ["failed_precondition"], summary: "The first response to this call held a secret that is not shown again." },
  server_too_old: { codes: ["failed_precondition"], summary: "The version of the database server is not supported." },
  multiple_credentials: { codes: ["invalid_argument"], summary: "The request has several Authorization headers." },
  slug_taken: { codes: ["already_exists"], summary: "The slug is taken." },
  staff_only: { codes: ["permission_denied"], summary: "Only staff may do this." },
  standalone_server: { codes: ["failed_precondition"], summary: "The database server is not a member of a replica set." },
  still_running: { codes: ["aborted"], summary: "The first call with this idempotency key is still running." },
  stopping: { codes: ["unavailable"], summary: "The service is stopping." },
  commit_timeout: { codes: ["unavailable"], summary: "Commits wait for too long." },
  storage_corrupt: { codes: ["unavailable"], summary: "The data file is damaged." },
  storage_missing: { codes: ["unavailable"], summary: "The data file was moved or deleted." },
  storage_timeout: { codes: ["unavailable"], summary: "Storage did not respond in time." },
  storage_unavailable: { codes: ["unavailable"], summary: "Storage cannot be reached, or cannot be written to." },
  template_budget: { codes: ["failed_precondition"], summary: "The templates of a step exceed their budget of operations." },
  template_failed: { codes: ["failed_precondition"], summary: "A template could not be rendered." },
  too_deep: { codes: ["failed_precondition"], summary: "Pipelines send to pipelines in too long a chain." },
  too_many: { codes: ["resource_exhausted"], summary: "Too many events are in flight." },
  too_many_channels: { codes: ["resource_exhausted"], summary: "The socket is subscribed to too many channels." },
  too_many_connections: { codes: ["unavailable"], summary: "There are more connections than the limit of open files allows." },
  too_many_elements: { codes: ["failed_precondition"], summary: "A step's `for_each` gave more elements than are taken." },
  too_many_fields: { codes: ["invalid_argument"], summary: "A form, or an object in a body, has too many fields." },
  too_many_sockets: { codes: ["resource_exhausted"], summary: "This key, or this client IP without a key, has too many sockets." },
  too_many_anonymous_sockets: { codes: ["resource_exhausted"], summary: "This node has too many anonymous sockets." },
  too_many_waiting: { codes: ["resource_exhausted"], summary: "Too many subscriptions are pending on this socket." },
  transform_memory: {
    codes: ["failed_precondition", "internal"],
    summary: "The transform ran out of memory.",
    details: { execution_id: "The execution." },
  },
  transform_result: {
    codes: ["failed_precondition", "internal"],
    summary: "The transform's result is not an event.",
    details: { execution_id: "The execution." },
  },
  transform_threw: {
    codes: ["failed_precondition", "internal"],
    summary: "The transform threw an error; the journal entry holds it.",
    details: { execution_id: "The execution." },
  },
  transform_timeout: {
    codes: ["failed_precondition", "internal"],
    summary: "The transform timed out.",
    details: { execution_id: "The execution." },
  },
  unavailable: { codes: ["unavailable"], summary: "The service is temporarily unavailable." },
  undeclared_collection: { codes: ["failed_precondition"], summary: "The collection is not declared by any plugin." },
  value_type_mismatch: { codes: ["failed_precondition"], summary: "An update does not fit the type of the stored value." },
  unknown_endpoint: { codes: ["not_found"], summary: "No active endpoint has this id." },
  unknown_master_key: { codes: ["data_loss"], summary: "The secret was sealed with an unknown master key." },
  unknown_operation: { codes: ["unimplemented"], summary: "The client knows no such operation." },
  unknown_path: { codes: ["not_found"], summary: "There is nothing at this path." },
  unreadable: { codes: ["data_loss"], summary: "The pipeline's secret cannot be decrypted; an operator must repair it." },
  unsortable_value: { codes: ["failed_precondition"], summary: "A value cannot be sorted." },
  unsupported_content_encoding: { codes: ["invalid_argument"], summary: "The Content-Encoding is not supported." },
  unsupported_content_type: { codes: ["invalid_argument"], summary: "The Content-Type is not supported." },
  unverified: { codes: ["unauthenticated"], summary: "The event could not be verified." },
  viewer_token: { codes: ["unauthenticated"], summary: "A viewer's token was sent without the endpoint that it opens." },
  wrong_master_key: { codes: ["failed_precondition"], summary: "The master key cannot open the store's secrets." },
  wrong_organization: { codes: ["permission_denied"], summary: "A write names a document of another organization." },
})

/** A reason of core's; a plugin's own is any other word that it registered. */
export type Reason = keyof typeof coreReasons | (string & {})

/** One problem for each word that is registered twice: it would mean two things. */
export function reasonConflicts(plugins: readonly { readonly id: string; readonly reasons?: Reasons }[]): string[] {
  const owners = new Map<string, string>(Object.keys(coreReasons).map((reason) => [reason, "core"]))
  const problems: string[] = []
  for (const { id, reasons = {} } of plugins) {
    for (const reason of Object.keys(reasons)) {
      const owner = owners.get(reason)
      if (owner === undefined) owners.set(reason, id)
      else problems.push(`The reason "${reason}" of the plugin "${id}" is registered by ${owner} already; choose another word.`)
    }
  }
  return problems
}
