// What an event came with, kept so that it can be run again. Most payloads are small and name no secret: the entry's
// preview is then the payload itself, and nothing is written twice; others lie apart.
import type { Store } from "../../contract/store.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { timestamp } from "../../kernel/clock.ts"
import { isSecretName } from "../../kernel/secret-names.ts"
import { redactedText } from "../../kernel/text-redaction.ts"
import { PayloadCollection } from "./collections.ts"
import type { JournalEntry } from "./entry.ts"

const dayMs = 86_400_000

/** Without proof; `body` is JSON text, null where there was none to keep. */
export interface StoredPayload {
  readonly body: string | null
  readonly headers: Record<string, string>
  readonly query: Record<string, string | string[]>
}

/** Stages what an event came with; to be called before the entry is staged. */
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

/** What the event of an entry came with; undefined where it was not kept, or no longer is. */
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

/** Bodies that lie apart, redacted, by the execution's id. */
export async function storedPayloads(store: Store, organization: string, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const found = await store.open(PayloadCollection, organization).find({ id: { $in: [...ids] } }, { limit: ids.length })
  return new Map(found.flatMap(({ id, body }) => (body === null ? [] : [[id, redactedText(body)]])))
}

/** Whether its payload is over: then it is shown, and in time stored, without what it holds of the event. */
function isOver({ received_at }: JournalEntry, days: number, now: number): boolean {
  return Date.parse(received_at) + days * dayMs <= now
}

/** Whether an entry holds something of what its event carried; its answer may, where anything else does. */
export function holdsPayload({ payload_preview, transformed, request, logs }: JournalEntry): boolean {
  return payload_preview !== "" || transformed !== null || request !== null || logs.length > 0
}

/** An entry as it may be shown: what it holds of the event goes when the payload does, if not yet from the disk. */
export function retainedEntry(entry: JournalEntry, days: number, now: number): JournalEntry {
  if (!isOver(entry, days, now) || !holdsPayload(entry)) return entry
  const { response } = entry
  return { ...entry, payload_preview: "", transformed: null, logs: [], request: null, response: response && { ...response, body: "" } }
}

/** A header named like a secret is not stored, for any auth mode; most events have none. */
function withoutSecretHeaders(headers: Record<string, string>): Record<string, string> {
  let shown = headers
  for (const name in headers) {
    if (!isSecretName(name)) continue
    if (shown === headers) shown = { ...headers }
    delete shown[name]
  }
  return shown
}
