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
  action_failed: {
    codes: ["internal"],
    summary: "A step before the reply failed; the journal entry tells why.",
    details: { execution_id: "The execution.", step: "Id of the step." },
  },
  bad_expression_value: {
    codes: ["failed_precondition"],
    summary: "A template's expression gave a value of another type than the field takes.",
  },
  bad_rendered_value: { codes: ["invalid_argument"], summary: "A rendered value is not one that the action's field takes." },
  body_too_deep: { codes: ["invalid_argument"], summary: "The body is nested more deeply than is taken." },
  body_too_large: {
    codes: ["resource_exhausted"],
    summary: "The body is larger than is taken.",
    details: { max_bytes: "Bytes that are taken." },
  },
  canceled: { codes: ["canceled"], summary: "The call was canceled." },
  client_canceled: { codes: ["canceled"], summary: "The caller aborted the call." },
  client_timeout: { codes: ["deadline_exceeded"], summary: "The client's own deadline passed." },
  command_line: { codes: ["invalid_argument"], summary: "The command line is wrong." },
  commit_refused: {
    codes: ["internal"],
    summary: "A write that the pipeline staged was refused; the journal entry tells why.",
    details: { execution_id: "The execution." },
  },
  condition_not_met: {
    codes: ["aborted"],
    summary: "A document no longer matches the condition of the write.",
    details: { collection: "The collection.", id: "The document." },
  },
  cut_short: { codes: ["unavailable"], summary: "The answer ended before it was whole." },
  dedupe_key: { codes: ["invalid_argument"], summary: "The deduplication key cannot be made of the event." },
  document_too_large: { codes: ["invalid_argument"], summary: "A document is larger than the store takes." },
  document_unreadable: { codes: ["data_loss"], summary: "A stored document cannot be read." },
  does_not_compile: {
    codes: ["failed_precondition", "invalid_argument"],
    summary: "The pipeline does not compile with the plugins that are loaded.",
  },
  draining: { codes: ["unavailable"], summary: "The service is stopping." },
  empty_body: { codes: ["invalid_argument"], summary: "The body is empty." },
  endpoint_only: { codes: ["failed_precondition"], summary: "The pipeline takes events at its own endpoint only." },
  etag_mismatch: { codes: ["aborted"], summary: "If-Match names a revision that is not the current one." },
  foreign_answer: { codes: ["unknown"], summary: "The answer was not made by this service." },
  foreign_origin: { codes: ["permission_denied"], summary: "A browser's page of another origin may not call this." },
  idempotency_key_reused: { codes: ["invalid_argument"], summary: "The idempotency key was used for another call." },
  if_match_unsupported: { codes: ["failed_precondition"], summary: "The operation takes no If-Match." },
  if_none_match_unsupported: { codes: ["failed_precondition"], summary: "The operation takes no If-None-Match." },
  internal: { codes: ["internal"], summary: "A defect of the service.", details: { execution_id: "The execution, where there is one." } },
  invalid_base_url: { codes: ["invalid_argument"], summary: "The client's base URL is not an http(s) URL." },
  invalid_channel: { codes: ["invalid_argument"], summary: "The channel's name is not one." },
  invalid_cursor: { codes: ["invalid_argument"], summary: "The cursor is not one of this list, or is damaged." },
  invalid_fields: {
    codes: ["invalid_argument"],
    summary: "Fields of the input are wrong; `fields` names each.",
    details: { fields: "Path and message of each." },
  },
  invalid_handshake: { codes: ["invalid_argument"], summary: "The socket's handshake is not as it should be." },
  invalid_idempotency_key: { codes: ["invalid_argument"], summary: "The idempotency key is too long, or not printable ASCII." },
  invalid_option: { codes: ["invalid_argument"], summary: "An option has a value that it does not take." },
  layout_failed: { codes: ["failed_precondition"], summary: "The database's collections or indexes could not be made." },
  malformed_body: {
    codes: ["invalid_argument"],
    summary: "The body is not JSON, or not the form that it says it is.",
    details: { offset: "Where JSON ends to be JSON.", line: "Line.", column: "Column." },
  },
  malformed_path: { codes: ["invalid_argument"], summary: "The path holds an escape that is not UTF-8." },
  method_not_allowed: { codes: ["unimplemented"], summary: "The path is there, by another method." },
  missing_credential: { codes: ["unauthenticated"], summary: "A credential is needed, and none was sent." },
  missing_scope: {
    codes: ["permission_denied"],
    summary: "The token has not the scope that is needed.",
    details: { needed_scope: "The scope.", scopes: "Those that it has." },
  },
  no_active_pipeline: { codes: ["not_found"], summary: "No active pipeline is at this address." },
  no_answer: { codes: ["unavailable"], summary: "The service could not be reached." },
  no_fixture: { codes: ["failed_precondition"], summary: "The rehearsal has no captured answer for this request." },
  no_result: { codes: ["internal"], summary: "A commit ended without a result." },
  no_secret: { codes: ["failed_precondition"], summary: "The auth mode carries no secret." },
  no_such_execution: { codes: ["not_found"], summary: "The pipeline has no execution with this id." },
  node_not_live: { codes: ["unavailable"], summary: "This node lost touch with its peers and may not act." },
  not_a_position: { codes: ["failed_precondition"], summary: "A row's position is not one." },
  not_active: { codes: ["failed_precondition"], summary: "The pipeline is not active." },
  not_an_object: { codes: ["failed_precondition"], summary: "A value that is merged is not an object." },
  not_json: { codes: ["invalid_argument", "unknown"], summary: "The text is not JSON." },
  not_started: { codes: ["unavailable"], summary: "The store is not open yet, or no longer." },
  not_utf8: { codes: ["invalid_argument"], summary: "The body is not valid UTF-8." },
  not_verified: {
    codes: ["failed_precondition"],
    summary: "An event that was not verified cannot be replayed.",
    details: { cause: "Why it was not." },
  },
  nothing_to_retry: { codes: ["failed_precondition"], summary: "The execution has no deferred step that failed for good." },
  overloaded: { codes: ["unavailable"], summary: "Too much work waits for this resource." },
  path_and_field_differ: {
    codes: ["invalid_argument"],
    summary: "A field says something else than the path.",
    details: { fields: "Path and message of each." },
  },
  payload_gone: { codes: ["failed_precondition"], summary: "What the event came with is no longer kept." },
  penalty: { codes: ["resource_exhausted"], summary: "The pipeline's code ran away repeatedly and is paused." },
  pipeline_changed: { codes: ["unavailable"], summary: "The pipeline was changed while the event was in flight." },
  query_not_read: {
    codes: ["invalid_argument"],
    summary: "The operation reads its fields from the body, not from the query.",
    details: { fields: "Path and message of each." },
  },
  rate_limited: { codes: ["resource_exhausted"], summary: "The rate limit is used up; Retry-After says until when." },
  read_deadline: { codes: ["deadline_exceeded"], summary: "A read of the store took longer than it may." },
  read_failed: { codes: ["unavailable"], summary: "A read of the store failed." },
  refused: { codes: ["failed_precondition"], summary: "Documents are refused; findings tell why." },
  read_only_field: { codes: ["invalid_argument"], summary: "A field that only the service sets was given another value." },
  reserved_channel: { codes: ["not_found", "permission_denied"], summary: "The channel is the service's own." },
  revision_mismatch: { codes: ["aborted"], summary: "The expected revision is not the current one." },
  role_too_low: { codes: ["permission_denied"], summary: "The role is too low for this." },
  sandbox_unavailable: { codes: ["unavailable"], summary: "No sandbox process is ready." },
  schema_mismatch: {
    codes: ["invalid_argument"],
    summary: "The body does not satisfy the request schema; `fields` names where.",
    details: { fields: "Path and message of each." },
  },
  sealed_text_changed: { codes: ["data_loss"], summary: "A sealed secret was changed or is damaged." },
  secret_lost: { codes: ["data_loss"], summary: "A secret that is shown once was lost on the way." },
  secret_shown_once: { codes: ["failed_precondition"], summary: "The first answer to this call held a secret that is not shown again." },
  server_too_old: { codes: ["failed_precondition"], summary: "The database server is older than is supported." },
  several_credentials: { codes: ["invalid_argument"], summary: "The request has several Authorization headers." },
  slug_taken: { codes: ["already_exists"], summary: "The slug is taken." },
  staff_only: { codes: ["permission_denied"], summary: "Only staff may do this." },
  standalone_server: { codes: ["failed_precondition"], summary: "The database server is not a member of a replica set." },
  still_running: { codes: ["aborted"], summary: "The first call with this idempotency key is still running." },
  stopping: { codes: ["unavailable"], summary: "The service is stopping." },
  storage_behind: { codes: ["unavailable"], summary: "Commits wait for longer than they may." },
  storage_damaged: { codes: ["unavailable"], summary: "The data file is damaged." },
  storage_gone: { codes: ["unavailable"], summary: "The data file was moved or deleted." },
  storage_slow: { codes: ["unavailable"], summary: "Storage takes longer than it may." },
  storage_unavailable: { codes: ["unavailable"], summary: "Storage cannot be reached or written." },
  template_budget: { codes: ["failed_precondition"], summary: "The templates of a step take too many operations." },
  template_failed: { codes: ["failed_precondition"], summary: "A template could not be rendered." },
  too_deep: { codes: ["failed_precondition"], summary: "Pipelines send to pipelines too deep." },
  too_many: { codes: ["resource_exhausted"], summary: "Too many events are in flight." },
  too_many_channels: { codes: ["resource_exhausted"], summary: "The socket is subscribed to too many channels." },
  too_many_fields: { codes: ["invalid_argument"], summary: "A form, or an object in a body, has too many fields." },
  too_many_sockets: { codes: ["resource_exhausted"], summary: "This key, or without one this address, holds as many sockets as it may." },
  too_many_sockets_in_all: { codes: ["resource_exhausted"], summary: "This node holds as many anonymous sockets as it may." },
  too_many_waiting: { codes: ["resource_exhausted"], summary: "Too many subscriptions wait on this socket." },
  transform_memory: {
    codes: ["failed_precondition", "internal"],
    summary: "The transform ran out of memory.",
    details: { execution_id: "The execution." },
  },
  transform_result: {
    codes: ["failed_precondition", "internal"],
    summary: "The transform returned what is not an event.",
    details: { execution_id: "The execution." },
  },
  transform_threw: {
    codes: ["failed_precondition", "internal"],
    summary: "The transform threw; the journal entry tells what.",
    details: { execution_id: "The execution." },
  },
  transform_timeout: {
    codes: ["failed_precondition", "internal"],
    summary: "The transform ran out of time.",
    details: { execution_id: "The execution." },
  },
  unavailable: { codes: ["unavailable"], summary: "What is needed is not available now." },
  undeclared_collection: { codes: ["failed_precondition"], summary: "A collection is used that no plugin declared." },
  unfit_value: { codes: ["failed_precondition"], summary: "An update does not fit the value that is there." },
  unknown_endpoint: { codes: ["not_found"], summary: "No active endpoint has this id." },
  unknown_master_key: { codes: ["data_loss"], summary: "The secret was sealed with a master key that is not given." },
  unknown_operation: { codes: ["unimplemented"], summary: "The client knows no such operation." },
  unknown_path: { codes: ["not_found"], summary: "Nothing is at this path." },
  unreadable: { codes: ["data_loss"], summary: "The pipeline's secret cannot be opened; its operator must repair it." },
  unsortable_value: { codes: ["failed_precondition"], summary: "A value cannot be sorted by." },
  unsupported_content_encoding: { codes: ["invalid_argument"], summary: "The Content-Encoding is not taken." },
  unsupported_content_type: { codes: ["invalid_argument"], summary: "The Content-Type is not taken." },
  unverified: { codes: ["unauthenticated"], summary: "The event could not be verified." },
  viewer_token: { codes: ["unauthenticated"], summary: "The token is a viewer's, and what it opens was not named." },
  write_refused: { codes: ["invalid_argument"], summary: "The store refused a write." },
  wrong_master_key: { codes: ["failed_precondition"], summary: "The master key cannot open the store's secrets." },
  wrong_organization: { codes: ["permission_denied"], summary: "A document of another organization was about to be written." },
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
