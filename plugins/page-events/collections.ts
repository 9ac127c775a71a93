// What is kept of visits: open sessions, until they are over, and each request that brought events, as long as payloads
// are kept. Neither holds an address or an agent.
import { type Document, defineCollection, type Json, type RequestStamp } from "#core"
import type { SessionState } from "./session.ts"

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
