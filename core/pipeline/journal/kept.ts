// Stores the payload of an event for replays. Most payloads are small and name no secret, so the entry's preview is also the
// payload. Other payloads are stored separately.
import type { Store } from "../../contract/store.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { timestamp } from "../../kernel/clock.ts"
import { isSecretName } from "../../kernel/secret-names.ts"
import { redactedText } from "../../kernel/text-redaction.ts"
import { PayloadCollection } from "./collections.ts"
import type { JournalEntry } from "./entry.ts"

const dayMs = 86_400_000

/** Payload without proof. `body` is JSON text, or null if the body was not stored. */
export interface StoredPayload {
  readonly body: string | null
  readonly headers: Record<string, string>
  readonly query: Record<string, string | string[]>
}

/** Stages the payload of an event. Call this before the entry is staged. */
export function storePayload(work: UnitOfWork, organization: string, entry: JournalEntry, kept: StoredPayload, days: number): void {
  const { body, query } = kept
  const headers = withoutSecretHeaders(kept.headers)
  if (body === entry.payload_preview) {
    entry.request = { headers, query }
    return
  }
  const expires_at = timestamp(Date.parse(entry.received_at) + days * dayMs)
  work.in(PayloadCollection, organization).insert({ id: entry.id, body, headers, query, expires_at })
}

/** Returns the payload of an entry's event. Returns undefined if it was not stored or has expired. */
export async function storedPayload(
  store: Store,
  organization: string,
  entry: JournalEntry,
  days: number,
  now: number,
): Promise<(StoredPayload & { readonly body: string }) | undefined> {
  if (isOver(entry, days, now)) return undefined
  if (entry.request) return { ...entry.request, body: entry.payload_preview }
  const kept = await store.open(PayloadCollection, organization).get(entry.id)
  return kept?.body === null || kept === undefined ? undefined : { body: kept.body, headers: kept.headers, query: kept.query }
}

/** Returns separately stored bodies, redacted, by the execution's id. */
export async function storedPayloads(store: Store, organization: string, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const found = await store.open(PayloadCollection, organization).find({ id: { $in: [...ids] } }, { limit: ids.length })
  return new Map(found.flatMap(({ id, body }) => (body === null ? [] : [[id, redactedText(body)]])))
}

/** Returns true after the payload's retention. Reads then leave out the event data, and the erasure removes it later. */
function isOver({ received_at }: JournalEntry, days: number, now: number): boolean {
  return Date.parse(received_at) + days * dayMs <= now
}

/** Returns true if an entry contains event data. The response contains event data only if another field does. */
export function holdsPayload({ payload_preview, transformed, request, logs }: JournalEntry): boolean {
  return payload_preview !== "" || transformed !== null || request !== null || logs.length > 0
}

/** Returns an entry for display. After the payload's retention it has no event data, even if the disk still has it. */
export function retainedEntry(entry: JournalEntry, days: number, now: number): JournalEntry {
  if (!isOver(entry, days, now) || !holdsPayload(entry)) return entry
  const { response } = entry
  return { ...entry, payload_preview: "", transformed: null, logs: [], request: null, response: response && { ...response, body: "" } }
}

/** Removes headers named like secrets for every auth mode. Most events have no such header. */
function withoutSecretHeaders(headers: Record<string, string>): Record<string, string> {
  let shown = headers
  for (const name in headers) {
    if (!isSecretName(name)) continue
    if (shown === headers) shown = { ...headers }
    delete shown[name]
  }
  return shown
}
