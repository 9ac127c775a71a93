// Reasons of failed events, templates and steps.
import { z } from "zod"
import { LogLines } from "../log-lines.ts"
import { defineReasons, FieldProblems } from "./define.ts"

export const eventReasons = defineReasons({
  action_error: {
    code: "unknown",
    summary: "An action threw an error that is not an AppError.",
    remedy: "Look at the action's code; it should throw an AppError.",
  },
  action_failed: {
    code: "internal",
    summary: "A step before the reply failed; the journal entry says why.",
    remedy: "Look at the execution.",
    details: { execution_id: z.string().describe("The execution."), step: z.string().describe("Id of the step.") },
  },
  attempt_timeout: {
    code: "deadline_exceeded",
    summary: "An attempt of a job or a step timed out.",
    remedy: "Raise the step's `timeout_ms`, or see what its receiver takes so long for.",
  },
  cannot_sign: {
    code: "unimplemented",
    summary: "A request of this sender cannot be signed by anyone but the sender.",
    remedy: "Give captured headers.",
  },
  commit_refused: {
    code: "internal",
    summary: "A write of the pipeline failed; the journal entry says why.",
    remedy: "Look at the execution.",
    details: { execution_id: z.string().describe("The execution.") },
  },
  dedupe_key: {
    code: "invalid_argument",
    summary: "The deduplication key cannot be rendered from the event.",
    remedy: "Send what the key is rendered of.",
  },
  endpoint_only: {
    code: "failed_precondition",
    summary: "The pipeline takes events at its own endpoint only.",
    remedy: "Send the event to the pipeline's `inbound_url`.",
  },
  event_not_storable: {
    code: "invalid_argument",
    summary: "The event has fields that a step before the reply cannot store; `fields` names each.",
    remedy: "Correct the fields that `fields` names.",
    details: { fields: FieldProblems, execution_id: z.string().describe("The execution.") },
  },
  event_refused: {
    code: "failed_precondition",
    summary: "A step before the reply cannot take what the event holds; the journal entry says why.",
    remedy: "Look at the execution, and send an event that the step takes.",
    details: {
      execution_id: z.string().describe("The execution."),
      step: z.string().optional().describe("Id of the step; absent if the storage refused a document."),
    },
  },
  approval_expired: {
    code: "failed_precondition",
    summary: "Nobody decided about the step or job in time.",
    details: { approval_id: z.string().describe("The approval.") },
  },
  approval_rejected: {
    code: "failed_precondition",
    summary: "A person rejected what the step or job would have done.",
    details: { approval_id: z.string().describe("The approval.") },
  },
  target_changed: {
    code: "failed_precondition",
    summary: "The connection or sender changed after approval was asked for, so that it is not done.",
    remedy: "Ask again for approval.",
    details: { approval_id: z.string().describe("The approval.") },
  },
  requester_revoked: {
    code: "failed_precondition",
    summary: "It was approved, but who asked may not ask any longer, so nothing was done.",
    remedy: "Ask for it again with a key that is valid.",
    details: { approval_id: z.string().describe("The approval.") },
  },
  awaited_step_gated: {
    code: "failed_precondition",
    summary: "A step before the reply cannot wait for approval, and an agent changed its pipeline.",
    remedy: "Remove `await` from the step, or let a person save the pipeline.",
  },
  cannot_be_gated: {
    code: "failed_precondition",
    summary:
      "The step's action changes its own values when they are read again, or its list has another length now, so nobody could approve exactly what it does.",
    remedy: "Remove `gate` from the step.",
  },
  execution_gone: {
    code: "failed_precondition",
    summary: "The pipeline or the journal entry of the execution was deleted.",
    remedy: "Load what the pipeline needs, and retry the execution.",
  },
  execution_not_found: {
    code: "not_found",
    summary: "The pipeline has no execution with this id.",
    remedy: "List the pipeline's executions.",
  },
  invalid_expression_value: {
    code: "failed_precondition",
    summary: "A template expression rendered to a value of the wrong type for its field.",
    remedy: "Make the expression give a value of the type that the message names.",
    details: { fields: FieldProblems },
  },
  invalid_rendered_value: {
    code: "invalid_argument",
    summary: "A rendered value is not valid for the action's field.",
    details: { fields: FieldProblems },
  },
  no_active_pipeline: {
    code: "not_found",
    summary: "No active pipeline is at this address.",
    remedy: "Check the address, and that the pipeline is active.",
  },
  no_fixture: {
    code: "failed_precondition",
    summary: "The rehearsal has no fixture for this request.",
    remedy: "Add a fixture to the test file.",
  },
  no_longer_compiles: {
    code: "failed_precondition",
    summary: "The stored pipeline does not compile with the plugins that are loaded.",
    remedy: "Validate it, and correct it or load what it needs.",
  },
  no_secret: { code: "failed_precondition", summary: "The auth mode carries no secret.", remedy: "Choose an auth mode that has a secret." },
  not_active: { code: "failed_precondition", summary: "The pipeline is not active.", remedy: "Activate the pipeline." },
  not_verified: {
    code: "failed_precondition",
    summary: "An event that was not verified cannot be replayed.",
    remedy: "Send the event again with a valid proof.",
    details: { cause: z.string().describe("Why verification failed.") },
  },
  nothing_to_retry: {
    code: "failed_precondition",
    summary: "The execution has no dead deferred step.",
    remedy: "Replay the execution instead.",
  },
  payload_expired: { code: "failed_precondition", summary: "The event's payload has expired.", remedy: "Send the event again." },
  penalty: {
    code: "resource_exhausted",
    summary: "The pipeline's code exceeded its limits repeatedly, and is paused.",
    remedy: "Make the transform or schema cheaper; wait for `Retry-After`.",
  },
  pipeline_changed: {
    code: "unavailable",
    summary: "The pipeline was changed while the event was in flight.",
    remedy: "Send the event again.",
  },
  reply_refused: {
    code: "failed_precondition",
    summary: "The pipeline's answer cannot be made of what the event holds; the journal entry tells why.",
    remedy: "Look at the execution, and correct the pipeline's `respond`.",
    details: { execution_id: z.string().describe("The execution."), step: z.string().describe("Id of the step.") },
  },
  sandbox_unavailable: { code: "unavailable", summary: "No sandbox process is ready.", remedy: "Send the event again." },
  schema_mismatch: {
    code: "invalid_argument",
    summary: "The body does not satisfy the request schema; `fields` names where.",
    remedy: "Correct the fields that `fields` names.",
    details: { fields: FieldProblems },
  },
  template_budget: {
    code: "failed_precondition",
    summary: "The templates of a step exceed their budget of operations.",
    remedy: "Make the templates smaller.",
  },
  template_failed: {
    code: "failed_precondition",
    summary: "A template could not be rendered.",
    remedy: "Correct the template that the message names.",
  },
  too_deep: {
    code: "failed_precondition",
    summary: "Pipelines send to pipelines in too long a chain.",
    remedy: "Break the chain or loop of pipelines.",
  },
  too_many: { code: "resource_exhausted", summary: "Too many events are in flight.", remedy: "Send the event again after `Retry-After`." },
  too_many_connections: {
    code: "unavailable",
    summary: "There are more connections than the limit of open files allows.",
    remedy: "Connect again later; raise the service's limit of open files.",
  },
  transform_failed: {
    code: "failed_precondition",
    summary: "The transform failed in a dry run.",
    remedy: "Correct the transform; the message says where it fails.",
    details: {
      cause: z.string().describe("How: the reason that the event would be answered with."),
      logs: LogLines.optional().describe("What it wrote by `console` before, if anything."),
    },
  },
  transform_memory: {
    code: "failed_precondition",
    summary: "The transform ran out of memory.",
    remedy: "Look at the execution.",
    details: { execution_id: z.string().describe("The execution.") },
  },
  transform_result: {
    code: "failed_precondition",
    summary: "The transform's result is not an event.",
    remedy: "Look at the execution.",
    details: { execution_id: z.string().describe("The execution.") },
  },
  transform_threw: {
    code: "failed_precondition",
    summary: "The transform threw an error; the journal entry holds it.",
    remedy: "Look at the execution.",
    details: { execution_id: z.string().describe("The execution.") },
  },
  transform_timeout: {
    code: "failed_precondition",
    summary: "The transform timed out.",
    remedy: "Look at the execution.",
    details: { execution_id: z.string().describe("The execution.") },
  },
  unreadable: {
    code: "data_loss",
    summary: "The pipeline's secret cannot be decrypted; an operator must repair it.",
    remedy: "Restore the master key, or rotate the pipeline's secret.",
  },
  unverified: {
    code: "unauthenticated",
    summary: "The event could not be verified.",
    remedy: "Check the secret, and how the provider signs.",
  },
})
