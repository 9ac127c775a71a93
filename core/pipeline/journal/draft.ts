// A journal entry of an event in progress. Each stage fills in its part, and the entry is written once.
import type { Reply } from "../../contract/action.ts"
import type { Verdict } from "../../contract/auth-mode.ts"
import type { Json } from "../../contract/collection.ts"
import type { Envelope } from "../../contract/envelope.ts"
import { timestamp } from "../../kernel/clock.ts"
import { logLines, type WrittenLine } from "../../kernel/log-lines.ts"
import { mayNameSecret, redactSecrets } from "../../kernel/secret-names.ts"
import { textWithoutSecrets } from "../../kernel/text-redaction.ts"
import type { StoredPipeline } from "../source.ts"
import type { EntryStatus, JournalEntry } from "./entry.ts"

const dayMs = 86_400_000

export interface DraftArgs {
  readonly id: string
  readonly stored: StoredPipeline
  readonly digest: string
  readonly receivedAtMs: number
  readonly entriesDays: number
  readonly depth?: number
  readonly replayOf?: string
}

/** Creates an undecided entry. It has status `failed` until an outcome is set. */
export function draftEntry({ id, stored, digest, receivedAtMs, entriesDays, depth = 0, replayOf }: DraftArgs): JournalEntry {
  const receivedAt = timestamp(receivedAtMs)
  return {
    id,
    pipeline_id: stored.id,
    pipeline_slug: stored.slug,
    revision: stored.revision,
    status: "failed",
    cause: "",
    error: null,
    received_at: receivedAt,
    is_test: false,
    payload_preview: "",
    request: null,
    response: null,
    repeat_of: null,
    replay_of: replayOf ?? null,
    forced: false,
    count: 1,
    first_at: receivedAt,
    last_at: receivedAt,
    verdict: { ok: false, mode: stored.document.auth_mode, cause: "", message: "", secret_id: null, event_id: null, event_type: null },
    dedupe: null,
    schema_errors: [],
    warnings: [],
    logs: [],
    transformed: null,
    steps: {},
    timings: {},
    rows: [],
    envelope: null,
    depth,
    digest,
    expires_at: timestamp(receivedAtMs + entriesDays * dayMs),
  }
}

export function noteVerdict(entry: JournalEntry, verdict: Verdict): void {
  const { mode } = entry.verdict
  entry.verdict = verdict.ok
    ? {
        ok: true,
        mode,
        cause: "",
        message: "",
        secret_id: verdict.secretId ?? null,
        event_id: verdict.eventId ?? null,
        event_type: verdict.eventType ?? null,
      }
    : { ok: false, mode, cause: verdict.cause, message: verdict.message, secret_id: null, event_id: null, event_type: null }
}

export function notePayload(entry: JournalEntry, text: string): void {
  entry.payload_preview = previewOfText(text)
}

export function noteTransformed(entry: JournalEntry, event: Json, eventText: string, envelope: Envelope): void {
  entry.transformed = previewOfValue(event, eventText)
  entry.envelope = envelope as unknown as Json
}

export function noteLogs(entry: JournalEntry, logs: readonly WrittenLine[]): void {
  entry.logs = logLines(logs)
}

/** Notes the duration of a stage in milliseconds, rounded to microseconds. */
export function noteTiming(entry: JournalEntry, stage: string, milliseconds: number): void {
  entry.timings[stage] = Math.round(milliseconds * 1_000) / 1_000
}

export function noteOutcome(entry: JournalEntry, status: EntryStatus, cause: string, error: JournalEntry["error"] = null): void {
  entry.status = status
  entry.cause = cause
  entry.error = error
}

export function noteReply(entry: JournalEntry, reply: Reply): void {
  const { status, body } = reply
  entry.response = { status, body: body === null ? "" : previewOfText(typeof body === "string" ? body : JSON.stringify(body)) }
}

// Previews of payloads and answers for journal entries. Values of fields named like secrets are cut, and long texts are capped.
// Most payloads name no secret, so they need no second parse.

const maxText = 2_000
const maxResult = 4_000

/** Previews JSON text. Text without a secret's name stays unchanged. */
export function previewOfText(text: string, maxLength = maxText): string {
  // The rest of the text is cut off, so it needs no check.
  const head = text.length <= maxLength ? text : text.slice(0, maxLength)
  const shown = mayNameSecret(head) ? textWithoutSecrets(text, maxLength) : text
  return shown.length <= maxLength ? shown : `${shown.slice(0, maxLength)}… (${text.length} characters)`
}

/** Previews a value with known JSON text. A small value without a secret's name stays unchanged. */
export function previewOfValue(value: Json, text: string): Json {
  if (text.length > maxResult) return previewOfText(text)
  return mayNameSecret(text) ? redactSecrets(value) : value
}
