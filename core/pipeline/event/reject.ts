// Maps every end of an event without success to its journal entry and its reply. Each fault has the same cause, entry and reason
// for every source.
import type { Reply } from "../../contract/action.ts"
import type { InboundRequest } from "../../contract/auth-mode.ts"
import type { Json } from "../../contract/collection.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import { parsedJson } from "../../kernel/json.ts"
import type { Logger } from "../../kernel/log.ts"
import { pointerTo } from "../findings.ts"
import { noteOutcome, noteReply, previewOfText } from "../journal/draft.ts"
import type { JournalEntry } from "../journal/entry.ts"
import type { Failure } from "../run/execution.ts"
import type { StoredPipeline } from "../source.ts"
import { errorReply } from "./answer.ts"
import { readBodyText } from "./body.ts"
import type { Committer } from "./commit.ts"
import type { EventContext } from "./event.ts"
import { headersAndSize } from "./request.ts"
import type { SandboxFailure } from "./transform.ts"

const transformCauses = {
  threw: "transform_threw",
  timeout: "transform_timeout",
  memory: "transform_memory",
  bad_result: "transform_result",
} as const

const transient: ReadonlySet<string> = new Set(["unavailable", "resource_exhausted", "deadline_exceeded", "aborted"])

/** Returns true if a later retry can succeed. The service then stores no data of the event. */
export function isTransient({ code }: AppError): boolean {
  return transient.has(code)
}

export class Rejector {
  readonly #commit: Committer
  readonly #log: Logger

  constructor(commit: Committer, log: Logger) {
    this.#commit = commit
    this.#log = log
  }

  /** Handles an invalid proof. The entry has the cause, and the sender receives no hint. */
  unverified(event: EventContext): Reply | Promise<Reply> {
    const error = new AppError("unauthenticated", "The event could not be verified.", { reason: "unverified" })
    return this.rejected(event, error, { cause: event.entry.verdict.cause })
  }

  /** Handles a fault of the sender. Over the cap of a minute, rejections share an entry per cause. */
  rejected(
    event: EventContext,
    error: AppError,
    { cause = reasonOf(error), replayable = false }: { cause?: string; replayable?: boolean } = {},
  ): Reply | Promise<Reply> {
    const { entry } = event
    if (!this.#commit.takesOwnEntry(entry.pipeline_id)) return this.folded(event, error, cause)
    if (entry.payload_preview === "") entry.payload_preview = previewOfUnread(event)
    entry.is_test = saysTest(event)
    const reply = noteRejection(entry, error, cause)
    return this.#commit.entryOnly(event, replayable).then(() => reply)
  }

  /** Counts a rejection in the shared entry of its cause and minute. */
  folded(event: EventContext, error: AppError, cause: string): Reply {
    const reply = noteRejection(event.entry, error, cause)
    event.journalId = this.#commit.fold(event.stored, event.entry)
    return reply
  }

  /** Rejects an event from a request with several events. Returns true if the event has its own entry. */
  rejectedPart(stored: StoredPipeline, entry: JournalEntry, error: AppError, cause: string, folded: boolean): boolean {
    noteOutcome(entry, "rejected", cause, { code: error.code, message: error.message })
    if (!folded && this.#commit.takesOwnEntry(entry.pipeline_id)) return true
    this.#commit.fold(stored, entry)
    return false
  }

  /** Handles a failure of schema, transform or sandbox. The reply contains the sender's own faults only. The entry has the rest. */
  bySandbox(event: EventContext, result: SandboxFailure): Reply | Promise<Reply> {
    const { entry } = event
    if (result.kind === "malformed" || result.kind === "invalid") {
      entry.schema_errors = result.errors.map(({ pointer, message }) => ({ pointer, message }))
      const fields = result.errors.map(({ pointer, message }) => ({ path: pointer, message }))
      const reason = result.kind === "malformed" ? "malformed_body" : "schema_mismatch"
      const error = new AppError("invalid_argument", result.message, { reason, fields })
      return this.rejected(event, error, { replayable: result.kind === "invalid" })
    }
    if (result.kind === "unavailable") {
      const options = { retryAfterS: result.retryAfterS ?? 1 }
      throw new AppError("unavailable", "The event could not be processed now.", { reason: "sandbox_unavailable" }, options)
    }
    if (result.kind === "penalty") {
      const message = "This pipeline's code has exceeded its limits repeatedly, and is paused."
      const error = new AppError("resource_exhausted", message, { reason: "penalty" }, { retryAfterS: result.retryAfterS ?? 5 })
      event.fault = error
      return this.folded(event, error, "penalty")
    }
    const cause = transformCauses[result.kind]
    const line = "line" in result ? ` (line ${result.line})` : ""
    noteOutcome(entry, "failed", cause, { code: "failed_precondition", message: `${result.message}${line}` })
    entry.is_test = saysTest(event)
    // The same event would fail again, so the reply does not request a retry.
    const reply = errorReply(new AppError("failed_precondition", transformFailed, { reason: cause, execution_id: entry.id }))
    noteReply(entry, reply)
    return this.#commit.entryOnly(event, true).then(() => reply)
  }

  /** Handles a fault of the service: storage is down, or there is a defect. The service stores no data of the event. */
  broken(event: EventContext, error: unknown): Reply {
    const { entry } = event
    const known = asAppError(error)
    if (isTransient(known)) {
      noteOutcome(entry, "failed", "unavailable")
      event.fault = sendAgain("The event could not be stored now; send it again.", known, known.retryAfterS)
      return errorReply(event.fault)
    }
    this.#log.error({ err: error, execution: entry.id }, "an event failed because of a defect of the service")
    noteOutcome(entry, "failed", "internal")
    event.fault = new AppError(
      "internal",
      "The service failed to process the request.",
      { reason: "internal", execution_id: entry.id },
      { cause: error },
    )
    return errorReply(event.fault)
  }
}

/** Handles a failed action before the reply. If the service stopped during the action, the sender must send the event again. */
export function noteActionFailed(event: EventContext, failure: Failure, stopping: boolean): void {
  const { entry } = event
  const { code, message: said, step } = failure
  const noted = { code, message: said, step }
  if (stopping) {
    const message = "The service stopped before the event was processed; send it again."
    event.fault = new AppError("unavailable", message, { reason: "stopping", execution_id: entry.id }, { retryAfterS: 1 })
    noteOutcome(entry, "failed", "stopping", noted)
    event.failure = failure
    event.reply = errorReply(event.fault)
    return
  }
  noteOutcome(entry, "failed", "action_failed", noted)
  event.failure = failure
  const details = { execution_id: entry.id, step }
  if (!isContentRefused(event, failure)) {
    event.reply = errorReply(new AppError("internal", failed, { reason: "action_failed", ...details }))
  } else if (event.graph.byId.get(step)?.action.replies === true) {
    event.reply = errorReply(new AppError("failed_precondition", replyRefused, { reason: "reply_refused", ...details }))
  } else {
    const refused = () => errorReply(new AppError("failed_precondition", eventRefused, { reason: "event_refused", ...details }))
    event.reply = namedFaults(event, failure) ?? refused()
  }
}

/** Reasons of failed template renders for this event. */
const renderReasons: ReadonlySet<unknown> = new Set([
  "invalid_expression_value",
  "invalid_rendered_value",
  "template_budget",
  "template_failed",
])

const contentCodes: ReadonlySet<string> = new Set(["invalid_argument", "out_of_range"])

/** Returns true if the step cannot accept the event's content. A retry of the sender cannot help. */
function isContentRefused({ graph }: EventContext, { code, step, error }: Failure): boolean {
  if (renderReasons.has(error.details.reason)) return true
  // An awaited step may fail through another service, and that is not the sender's fault.
  return contentCodes.has(code) && graph.byId.get(step)?.action.timing === "commit"
}

/** Names the sender's fields that a step refused. Names from the pipeline itself stay private. */
function namedFaults({ graph, visible, entry, stored }: EventContext, { code, step, error }: Failure): Reply | undefined {
  const action = graph.byId.get(step)?.action
  if (code !== "invalid_argument" || !action?.faultsIn) return undefined
  const isTransformed = typeof stored.document.transform_js === "string"
  const faults = action.faultsIn(JSON.parse(visible.body) as Json, error, { isTransformed })
  if (faults.length === 0) return undefined
  const fields = faults.map(({ path, message }) => ({ path: pointerTo(path), message }))
  const message = "The event holds fields that cannot be stored, so nothing of it was carried out."
  return errorReply(new AppError("invalid_argument", message, { reason: "event_not_storable", fields, execution_id: entry.id }))
}

const eventRefused = "A step of the pipeline cannot take what this event holds, so nothing of it was carried out."
const replyRefused = "The pipeline's answer cannot be made of what this event holds, so nothing of it was carried out."

/** Handles a refused write of an action. */
export function noteCommitRefused(event: EventContext, error: AppError): void {
  const { entry } = event
  noteOutcome(entry, "failed", "commit_refused", { code: error.code, message: error.message })
  entry.rows = []
  // The store refused a document's content, and the content comes from the event.
  const refused = error.code === "invalid_argument"
  event.reply = errorReply(
    refused
      ? new AppError("failed_precondition", eventRefused, { reason: "event_refused", execution_id: entry.id })
      : new AppError("internal", failed, { reason: "commit_refused", execution_id: entry.id }),
  )
  noteReply(entry, event.reply)
}

const transformFailed = "The transform of the pipeline cannot process this event, so nothing of it was carried out."
const failed = "The event was received, but could not be processed."

/** Uses the message of the verdict for the entry if present. It has more detail than the reply. */
function noteRejection(entry: JournalEntry, error: AppError, cause: string): Reply {
  noteOutcome(entry, "rejected", cause, { code: error.code, message: entry.verdict.message || error.message })
  const reply = errorReply(error)
  noteReply(entry, reply)
  return reply
}

/** Returns the error for a temporary fault of the service. An `unavailable` fault keeps its reason. */
export function sendAgain(message: string, fault: AppError, retryAfterS = 1): AppError {
  const reason = fault.code === "unavailable" ? reasonOf(fault) : "unavailable"
  return AppError.from({ code: "unavailable", message, details: { reason } }, { retryAfterS, cause: fault })
}

export function reasonOf({ details, code }: AppError): string {
  return String(details.reason ?? code)
}

// Journal preview of an event that ended before its body was read. It shows only fields that are safe for unverified requests,
// cut short and without fields named like secrets.

/** For a longer body the preview has only headers and size. */
const maxParsedBytes = 65_536
const maxPreview = 500

/** Returns "" for events without a request. */
function previewOfUnread({ request, visible }: EventContext): string {
  if (visible.body !== "") return previewOfText(visible.body)
  if (!request) return ""
  const text = textOf(request)
  return text === undefined ? headersAndSize(request.headers, request.body.length) : previewOfText(text, maxPreview)
}

/** Returns true if the header or the body marks the event as a test. */
function saysTest({ isTest, visible, request }: EventContext): boolean {
  if (isTest) return true
  const text = visible.body === "" ? request && textOf(request) : visible.body
  if (!text?.includes('"is_test"')) return false
  return (parsedJson(text) as { is_test?: unknown } | null | undefined)?.is_test === true
}

/** Returns the body as JSON text, or undefined if it is too large or not text. */
function textOf({ body, headers }: InboundRequest): string | undefined {
  if (body.length === 0 || body.length > maxParsedBytes) return undefined
  const type = headers["content-type"]
  try {
    return readBodyText(body, typeof type === "string" ? type : type?.[0]).text
  } catch {
    return undefined
  }
}
