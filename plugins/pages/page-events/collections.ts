// Collections of page visits: open sessions, ended sessions that an open page may still resume, leads per session, and request
// batches.
// Batches are stored as long as payloads. No collection stores an address or a user agent.
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

/** A session that ended, and its derived rows. `id` is the session. */
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

/** Marks a session as a lead. Separate from the session's state, since other requests of the visitor change that state. */
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

/** Shared data of one request's events. It keeps each entry small and makes a replay possible. */
export interface BatchDocument extends Document {
  pipeline_id: string
  /** JSON text of the elements in request order; null if an element cannot be replayed. */
  elements: (string | null)[]
  context: RowContext
  expires_at: string
}

/** All columns of a row except those of its event. */
export interface RowContext {
  artifact_id: string
  page_url: string
  variant: string
  session_id: string
  campaign: Record<string, string>
  stamp: RequestStamp
  is_test: boolean
  /** Element names accepted only because they are in the page's HTML; absent without any. */
  names?: string[]
  /** Milliseconds since the epoch, by the server's clock and by the browser's clock. Null if the browser sent no time. */
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

/** Reads the batch and index of an event from an entry's `envelope`. */
export function placeOf(envelope: Json): { batch: string; index: number } | undefined {
  if (typeof envelope !== "object" || envelope === null || Array.isArray(envelope)) return undefined
  const { batch_id, index } = envelope
  return typeof batch_id === "string" && typeof index === "number" ? { batch: batch_id, index } : undefined
}
