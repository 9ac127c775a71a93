// What is kept of visits: sessions while they are open and for as long as a page that stayed open may go on with them,
// which sessions became leads, and each request that brought events, as long as payloads are kept. None of it holds an
// address or an agent.
import { type Document, defineCollection, type Json } from "#core"
import type { RequestStamp } from "#core/engine"
import type { SessionState } from "./session.ts"
import type { DerivedKind } from "./vocabulary.ts"

/** `id` is the visitor. */
export interface SessionDocument extends Document {
  state: SessionState
  revision: number
}

export const SessionsCollection = defineCollection<SessionDocument>()({
  name: "page_sessions",
  scope: "organization",
  times: [],
  indexes: [],
  audit: "size",
})

/** A session that ended, and what was derived then. `id` is the session. */
export interface EndedSessionDocument extends Document {
  visitor: string
  state: SessionState
  rows: { kind: DerivedKind; id: string; received_at: string }[]
  expires_at: string
}

export const EndedSessionsCollection = defineCollection<EndedSessionDocument>()({
  name: "page_ended_sessions",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "size",
})

/** That a session became a lead; kept apart from its state, which requests of the same visitor change meanwhile. */
export interface LeadDocument extends Document {
  expires_at: string
}

export const LeadsCollection = defineCollection<LeadDocument>()({
  name: "page_session_leads",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
})

/** What the events of one request have in common, so that each entry can stay small and be run again. */
export interface BatchDocument extends Document {
  pipeline_id: string
  /** JSON text of the elements, by their place in the request; null where one cannot be run again. */
  elements: (string | null)[]
  context: RowContext
  expires_at: string
}

/** All that a row says beside its event. */
export interface RowContext {
  artifact_id: string
  page_url: string
  variant: string
  session_id: string
  campaign: Record<string, string>
  stamp: RequestStamp
  is_test: boolean
  /** Names of elements that were kept only because they stood in the page; absent where there are none. */
  names?: string[]
  /** Milliseconds since the epoch, by the server's clock and by the browser's; null where it said nothing. */
  received_at: number
  sent_at: number | null
}

export const BatchesCollection = defineCollection<BatchDocument>()({
  name: "page_event_batches",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "size",
  auditFields: ["pipeline_id"],
})

/** What an entry's `envelope` says of where its event came in. */
export function placeOf(envelope: Json): { batch: string; index: number } | undefined {
  if (typeof envelope !== "object" || envelope === null || Array.isArray(envelope)) return undefined
  const { batch_id, index } = envelope
  return typeof batch_id === "string" && typeof index === "number" ? { batch: batch_id, index } : undefined
}
