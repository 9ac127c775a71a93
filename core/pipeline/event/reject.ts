// Every way in which an event ends other than by being carried out, mapped to its journal entry and to what its sender is
// answered. A fault has one cause, one entry and one reason for every source.
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

/** Whether sending the event again later can help, so that nothing of it is kept. */
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

  /** The proof did not hold. The entry tells why; the sender is given no hint. */
  unverified(event: EventContext): Reply | Promise<Reply> {
    const error = new AppError("unauthenticated", "The event could not be verified.", { reason: "unverified" })
    return this.rejected(event, error, { cause: event.entry.verdict.cause })
  }

  /** The sender's fault. Beyond the cap of a minute it is counted in one entry a cause. */
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

  /** One of many: counted in one entry a cause and minute. */
  folded(event: EventContext, error: AppError, cause: string): Reply {
    const reply = noteRejection(event.entry, error, cause)
    event.journalId = this.#commit.fold(event.stored, event.entry)
    return reply
  }

  /** One of several events that came in one request. Returns whether it gets an entry of its own. */
  rejectedPart(stored: StoredPipeline, entry: JournalEntry, error: AppError, cause: string, folded: boolean): boolean {
    noteOutcome(entry, "rejected", cause, { code: error.code, message: error.message })
    if (!folded && this.#commit.takesOwnEntry(entry.pipeline_id)) return true
    this.#commit.fold(stored, entry)
    return false
  }

  /** What schema, transform or the sandbox itself made of it. The sender learns of its own faults only; the entry has the rest. */
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
    // The same event fails again, so the sender is not asked to retry.
    const reply = errorReply(new AppError("failed_precondition", transformFailed, { reason: cause, execution_id: entry.id }))
    noteReply(entry, reply)
    return this.#commit.entryOnly(event, true).then(() => reply)
  }

  /** Our fault: storage is down, or there is a defect. Nothing is kept. */
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

/** An action before the reply failed, or was broken off because the service stops: then the event is to be sent again. */
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

/** Reasons of templates that cannot be rendered for this event. */
const renderReasons: ReadonlySet<unknown> = new Set([
  "invalid_expression_value",
  "invalid_rendered_value",
  "template_budget",
  "template_failed",
])

const contentCodes: ReadonlySet<string> = new Set(["invalid_argument", "out_of_range"])

/** Returns true if the step cannot take the content of the event, so that no retry of the sender can help. */
function isContentRefused({ graph }: EventContext, { code, step, error }: Failure): boolean {
  if (renderReasons.has(error.details.reason)) return true
  // The sender is not at fault for another service's answer to an awaited step.
  return contentCodes.has(code) && graph.byId.get(step)?.action.timing === "commit"
}

/** Names the sender's fields that a step refused. Names of the pipeline's own are not the sender's to read. */
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

/** A write that an action staged was refused. */
export function noteCommitRefused(event: EventContext, error: AppError): void {
  const { entry } = event
  noteOutcome(entry, "failed", "commit_refused", { code: error.code, message: error.message })
  entry.rows = []
  // The store refused the content of a document, which comes from the event.
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

/** The verdict's own words, where it is what refuses, say more than the sender is told. */
function noteRejection(entry: JournalEntry, error: AppError, cause: string): Reply {
  noteOutcome(entry, "rejected", cause, { code: error.code, message: entry.verdict.message || error.message })
  const reply = errorReply(error)
  noteReply(entry, reply)
  return reply
}

/** What is told of a fault of ours that may pass: its own reason, where that is one of `unavailable`. */
export function sendAgain(message: string, fault: AppError, retryAfterS = 1): AppError {
  const reason = fault.code === "unavailable" ? reasonOf(fault) : "unavailable"
  return AppError.from({ code: "unavailable", message, details: { reason } }, { retryAfterS, cause: fault })
}

export function reasonOf({ details, code }: AppError): string {
  return String(details.reason ?? code)
}

// What the journal shows of an event that ended before its body was read: as much as may be shown of what nobody vouches
// for, cut short and without what is named like a secret.

/** Longer bodies are told by headers and size alone. */
const maxParsedBytes = 65_536
const maxPreview = 500

/** "" for events without a request. */
function previewOfUnread({ request, visible }: EventContext): string {
  if (visible.body !== "") return previewOfText(visible.body)
  if (!request) return ""
  const text = textOf(request)
  return text === undefined ? headersAndSize(request.headers, request.body.length) : previewOfText(text, maxPreview)
}

/** Whether the event is marked as a test, by its header or its body. */
function saysTest({ isTest, visible, request }: EventContext): boolean {
  if (isTest) return true
  const text = visible.body === "" ? request && textOf(request) : visible.body
  if (!text?.includes('"is_test"')) return false
  return (parsedJson(text) as { is_test?: unknown } | null | undefined)?.is_test === true
}

/** As JSON text; undefined for what is too large, or is not text. */
function textOf({ body, headers }: InboundRequest): string | undefined {
  if (body.length === 0 || body.length > maxParsedBytes) return undefined
  const type = headers["content-type"]
  try {
    return readBodyText(body, typeof type === "string" ? type : type?.[0]).text
  } catch {
    return undefined
  }
}
