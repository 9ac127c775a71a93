// Rows of the dataset, from events and from what is derived of them. Pure.
import { type Json, type PageEnvelope, timestamp } from "#core"
import { timeOf } from "./batch.ts"
import type { RowContext } from "./collections.ts"
import type { DerivedRow } from "./session.ts"
import type { SubmittedEvent } from "./vocabulary.ts"

const campaignColumns = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "click_id", "click_id_type"] as const

export function campaignIn(envelope: PageEnvelope): Record<string, string> {
  return Object.fromEntries(campaignColumns.map((name) => [name, envelope[name] ?? ""]))
}

/** Without query and fragment: what identifies a visitor often stands there, and the campaign has columns of its own. */
export function pageUrl(given: string | undefined): string {
  if (given === undefined || !URL.canParse(given)) return ""
  const { protocol, origin, pathname } = new URL(given)
  return protocol === "https:" || protocol === "http:" ? origin + pathname : ""
}

/** The columns that every row of a visit has. */
export function baseOf(context: RowContext): Record<string, Json> {
  const { artifact_id, page_url, variant, session_id, campaign, stamp, is_test } = context
  return { artifact_id, page_url, variant, session_id, ...campaign, is_test, ...stamp }
}

export function rowOf(event: SubmittedEvent, context: RowContext): Record<string, Json> {
  const at = timeOf(event.at, context.sent_at ?? undefined, context.received_at)
  return { event_id: event.event_id, event: event.kind, at: timestamp(at), ...baseOf(context), ...event.columns }
}

/** Keyed by session, kind and number. No browser can submit such an id: theirs hold no colon. */
export function derivedRowOf(sessionId: string, { kind, number, at, base, columns }: DerivedRow): Record<string, Json> {
  return { event_id: `${sessionId}:${kind}:${number}`, event: kind, at: timestamp(at), ...base, ...columns }
}
