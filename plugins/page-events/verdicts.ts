// The verdict on each element of a request, with its journal entry, and the answer that lists them all.
import { AppError, type Arrival, type JournalEntry, type Json, type Reply } from "#core"
import type { Batch } from "./batch.ts"
import { readEvent, type SubmittedEvent } from "./vocabulary.ts"

/** One element, judged. */
export interface Judged {
  readonly index: number
  readonly text: string
  readonly entry: JournalEntry
  readonly event: SubmittedEvent | undefined
  readonly result: Record<string, Json>
}

export function judge(arrival: Arrival, batch: Batch, element: Json, index: number, bot: boolean, execution: string): Judged {
  const { journal, isTest, id } = arrival
  const text = JSON.stringify(element)
  const entry = journal.draft(execution, text)
  entry.is_test = isTest || batch.isTest
  entry.envelope = { batch_id: id, index }
  const read = readEvent(element)
  const event_id = idOf(element)
  entry.verdict = { ...entry.verdict, event_id, event_type: read.ok ? read.event.kind : null }
  const refuse = (cause: string, error: AppError, folded: boolean): Judged => {
    const own = journal.reject(entry, cause, error, { folded })
    const found = { status: "rejected", cause, message: error.message, ...(own ? { execution_id: entry.id } : {}) }
    return { index, text, entry, event: undefined, result: { event_id, ...found } }
  }
  if (bot) return refuse("bot", new AppError("permission_denied", "Events of bots are not counted."), true)
  if (!read.ok) {
    entry.schema_errors = (read.error.details.fields ?? []).map(({ path, message }) => ({ pointer: `/${path}`, message }))
    return refuse(read.cause, read.error, false)
  }
  journal.accept(entry)
  return { index, text, entry, event: read.event, result: { event_id, status: "accepted", execution_id: entry.id } }
}

function idOf(element: Json): string | null {
  const id = typeof element === "object" && element !== null && !Array.isArray(element) ? element["event_id"] : undefined
  return typeof id === "string" ? id.slice(0, 64) : null
}

/** Counted in the minute's one entry; the beacon reads from the header when to come again. */
export function refuseWhole({ journal, isTest }: Arrival, execution: string, refusal: AppError): Reply {
  const entry = journal.draft(execution, "")
  entry.is_test = isTest
  journal.reject(entry, "rate_limited", refusal, { folded: true })
  const headers = { "retry-after": String(refusal.retryAfterS ?? 1), "access-control-expose-headers": "retry-after" }
  return { status: refusal.status, headers, body: refusal.toBody() as unknown as Json }
}

/** Good when one element is; a request of nothing but bad ones is refused, and says why of each. */
export function answer(judged: readonly Judged[]): Reply {
  const results = judged.map(({ result }) => result)
  if (judged.length === 0 || judged.some(({ event }) => event)) return { status: 200, headers: {}, body: { status: "accepted", results } }
  const first = judged[0]?.result
  const reason = String(first?.["cause"])
  const error = new AppError(reason === "bot" ? "permission_denied" : "invalid_argument", String(first?.["message"]), {
    reason,
    results,
  })
  return { status: error.status, headers: {}, body: error.toBody() as unknown as Json }
}
