// Builds dataset rows from events and derived events. Pure.
import { type Json, timestamp } from "#core"
import type { PageEnvelope } from "#core/engine"
import { timeOf } from "./batch.ts"
import type { RowContext } from "./collections.ts"
import type { DerivedRow } from "./session.ts"
import type { SubmittedEvent } from "./vocabulary.ts"

const campaignColumns = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "click_id", "click_id_type"] as const

/**
 * Returns the campaign of the visit. A page URL without a campaign (after a form was sent, for example) keeps the campaign of the
 * session's earlier rows.
 */
export function campaignIn(envelope: PageEnvelope, before: Readonly<Record<string, Json>> = {}): Record<string, string> {
  const campaign = campaignColumns.some((name) => envelope[name]) ? envelope : before
  return Object.fromEntries(campaignColumns.map((name) => [name, String(campaign[name] ?? "")]))
}

/** Removes query and fragment: they often identify a visitor, and the campaign has its own columns. */
export function pageUrl(text: string | undefined): string {
  if (text === undefined || !URL.canParse(text)) return ""
  const { protocol, origin, pathname } = new URL(text)
  return protocol === "https:" || protocol === "http:" ? origin + pathname : ""
}

/** Columns in every row of a visit. */
export function baseOf(context: Omit<RowContext, "received_at" | "sent_at">): Record<string, Json> {
  const { artifact_id, page_url, variant, session_id, campaign, stamp, is_test } = context
  return { artifact_id, page_url, variant, session_id, ...campaign, is_test, ...stamp }
}

/** The same columns for the envelope of a journal entry, without blank values. */
export function envelopeOf(context: Omit<RowContext, "is_test" | "received_at" | "sent_at">): Record<string, Json> {
  const { artifact_id, page_url, variant, session_id, campaign, stamp } = context
  const columns = { artifact_id, page_url, variant, session_id, ...campaign, ...stamp }
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== ""))
}

export function rowOf(event: SubmittedEvent, context: RowContext): Record<string, Json> {
  const at = timeOf(event.at, context.sent_at ?? undefined, context.received_at)
  return { event_id: event.event_id, event: event.kind, at: timestamp(at), ...baseOf(context), ...event.columns }
}

export function derivedRowOf(sessionId: string, { kind, number, at, base, columns }: DerivedRow): Record<string, Json> {
  return { event_id: derivedIdOf(sessionId, { kind, number }), event: kind, at: timestamp(at), ...base, ...columns }
}

/** Browsers cannot submit this id: their ids contain no colon. */
export function derivedIdOf(sessionId: string, { kind, number }: Pick<DerivedRow, "kind" | "number">): string {
  return `${sessionId}:${kind}:${number}`
}
