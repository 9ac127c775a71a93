// Judges each element of a request, creates its journal entry and builds the common answer.
import { AppError, type Ids, isRecord, type Json } from "#core"
import type { Arrival, JournalEntry, Reply } from "#core/engine"
import type { Batch } from "./batch.ts"
import { campaignIn, envelopeOf, pageUrl } from "./rows.ts"
import { type ReadEvent, readEvent, type SubmittedEvent } from "./vocabulary.ts"

/** One judged element. */
export interface Judged {
  readonly index: number
  readonly text: string
  readonly entry: JournalEntry
  readonly event: SubmittedEvent | undefined
  readonly result: Record<string, Json>
}

export interface Judging {
  readonly bot: boolean
  /** Names from the page's HTML. */
  readonly authored: ReadonlySet<string>
  readonly ids: Ids
}

/** Judges each element separately. */
export function judge(arrival: Arrival, batch: Batch, { bot, authored, ids }: Judging): Judged[] {
  const elements = batch.elements.map((element) => ({ element, read: readEvent(element, authored) }))
  const oneIsGood = !bot && elements.some(({ read }) => read.ok)
  return elements.map(({ element, read }, index) => {
    const text = JSON.stringify(element)
    const event_id = idOf(element)
    const entry = arrival.journal.draft(ids.uuid(), text)
    entry.is_test = arrival.isTest || batch.isTest
    entry.verdict = { ...entry.verdict, event_id, event_type: read.ok ? read.event.kind : null }
    const verdict = bot ? refusedBot : read
    if (verdict.ok) {
      const result = { event_id, status: "accepted", execution_id: entry.id }
      entry.response = { status: 200, body: JSON.stringify(result) }
      arrival.journal.accept(entry)
      return { index, text, entry, event: verdict.event, result }
    }
    entry.envelope = { batch_id: arrival.id, index, ...saidBy(arrival, batch) }
    return { index, text, entry, event: undefined, result: refuse(arrival, entry, verdict, oneIsGood) }
  })
}

type RefusedEvent = ReadEvent & { readonly ok: false }

const refusedBot: RefusedEvent = {
  ok: false,
  cause: "bot",
  error: new AppError("permission_denied", "Events of bots are not counted.", { reason: "bot" }),
}

/** Refuses a bot's request without events; it may contain signals. */
export function refuseEmptyOfBot(arrival: Arrival, execution: string): Reply {
  return refuseWhole(arrival, execution, refusedBot.error, refusedBot.cause)
}

/** Returns the element's part of the answer. Refusals of bots share one entry per minute. */
function refuse({ journal }: Arrival, entry: JournalEntry, { cause, error }: RefusedEvent, oneIsGood: boolean): Record<string, Json> {
  const { event_id } = entry.verdict
  const result = { event_id, status: "rejected", cause, message: error.message }
  entry.schema_errors = (error.details.fields ?? []).map(({ path, message }) => ({ pointer: `/${path}`, message }))
  entry.response = { status: oneIsGood ? 200 : error.status, body: JSON.stringify(result) }
  const own = journal.reject(entry, cause, error, { folded: cause === "bot" })
  return own ? { ...result, execution_id: entry.id } : result
}

/** Builds the envelope from the request alone: a request of malformed elements only starts no session. */
function saidBy({ pipeline, stamp }: Arrival, { envelope }: Batch): Record<string, Json> {
  const artifact_id = pipeline.document.owner_artifact_id ?? ""
  return envelopeOf({
    artifact_id,
    page_url: pageUrl(envelope.page_url),
    variant: "",
    session_id: "",
    campaign: campaignIn(envelope),
    stamp,
  })
}

function idOf(element: Json): string | null {
  const id = isRecord(element) ? element["event_id"] : undefined
  return typeof id === "string" ? id.slice(0, 64) : null
}

/** Refuses the whole request. The refusal is counted in one entry per minute. The beacon reads the retry time from the header. */
export function refuseWhole({ journal, isTest }: Arrival, execution: string, refusal: AppError, cause = "rate_limited"): Reply {
  const entry = journal.draft(execution, "")
  entry.is_test = isTest
  entry.response = { status: refusal.status, body: JSON.stringify(refusal.toBody()) }
  journal.reject(entry, cause, refusal, { folded: true })
  const headers: Record<string, string> = refusal.retryAfterS === undefined ? {} : { "retry-after": String(refusal.retryAfterS) }
  return { status: refusal.status, headers, body: refusal.toBody() as unknown as Json }
}

/** Succeeds if at least one element was accepted. Otherwise refuses the request, with a cause for each element. */
export function answer(judged: readonly Judged[]): Reply {
  const results = judged.map(({ result }) => result)
  if (judged.length === 0 || judged.some(({ event }) => event)) return { status: 200, headers: {}, body: { status: "accepted", results } }
  const first = judged[0]?.result
  const reason = String(first?.["cause"])
  const code = reason === "bot" ? "permission_denied" : "invalid_argument"
  const error = AppError.from({ code, message: String(first?.["message"]), details: { reason, results } })
  return { status: error.status, headers: {}, body: error.toBody() as unknown as Json }
}
