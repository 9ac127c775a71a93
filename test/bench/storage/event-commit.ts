// Returns an inbound event's writes as one commit: a journal entry, a stored payload and a keyed row with a random id.
import { randomBytes, randomUUID } from "node:crypto"
import type { Document, Json } from "../../../core/contract/collection.ts"
import type { Commit, NewestWinsWrite } from "../../../core/contract/store.ts"
import { systemClock, timestamp } from "../../../core/kernel/clock.ts"
import { timeOrderedIds } from "../../../core/kernel/ids.ts"
import { EntryCollection, PayloadCollection } from "../../../core/pipeline/journal/collections.ts"
import { RowsCollection } from "../../../plugins/data/datasets/collections.ts"

export const organization = randomUUID()
const pipeline = randomUUID()
const dataset = randomUUID()
const ids = timeOrderedIds(systemClock)
const month = 30 * 86_400_000

/** Entry of 1.9 KB, payload of 580 B, row of 570 B. */
export function eventOf(): Commit {
  const id = ids.uuid()
  const now = Date.now()
  const at = timestamp(now)
  const lead = {
    email: `${randomBytes(6).toString("hex")}@example.com`,
    name: "Ada Lovelace",
    company: "Analytical Engines Ltd",
    budget: 12_500,
    message: "x".repeat(120),
    tags: ["demo", "pricing"],
    consent: true,
  }
  const rowId = uuidOf(randomBytes(16).toString("hex"))
  const position = `${at}/${id}`
  const row: NewestWinsWrite["doc"] & { dataset_id: string } = {
    id: rowId,
    organization_id: organization,
    dataset_id: dataset,
    values: lead,
    created_at: at,
    updated_at: at,
  }
  const body = JSON.stringify(lead)
  const payload: Document & Record<string, Json> = {
    id,
    body,
    headers: { "content-type": "application/json", "user-agent": "bench/1.0", "x-request-id": id },
    query: {},
    expires_at: timestamp(now + 7 * 86_400_000),
  }
  return {
    id,
    writes: [
      { kind: "insert", collection: EntryCollection, organization, doc: entryOf(id, now, lead, body, rowId) },
      { kind: "insert", collection: PayloadCollection, organization, doc: payload },
      { kind: "newest_wins", collection: RowsCollection, organization, doc: row, position },
    ],
  }
}

function entryOf(id: string, now: number, lead: Record<string, Json>, body: string, rowId: string): Document & Record<string, Json> {
  const at = timestamp(now)
  const result = { row_id: rowId, dataset_slug: "leads", created: true }
  return {
    id,
    pipeline_id: pipeline,
    pipeline_slug: "bench-lead",
    revision: 1,
    status: "accepted",
    cause: "",
    error: null,
    received_at: at,
    is_test: false,
    payload_preview: body,
    response: { status: 200, body: JSON.stringify({ ok: true, execution_id: id }) },
    repeat_of: null,
    replay_of: null,
    count: 1,
    first_at: at,
    last_at: at,
    verdict: { ok: true, mode: "hmac_sha256", cause: "", message: "", secret_id: "s_1", event_id: null, event_type: null },
    dedupe: null,
    schema_errors: [],
    transformed: lead,
    steps: { save: { type: "dataset.write", state: "done", attempts: 1, duration_ms: 0.12, result, error: null } },
    timings: { verify: 0.05, sandbox: 0.4, run: 0.2, total: 0.71 },
    rows: [{ step: "save", dataset: "leads", row_id: rowId }],
    envelope: {
      endpoint_id: "in_0123456789abcdefghijkl",
      page_url: null,
      referrer: null,
      artifact_id: null,
      visitor_id: null,
      ip: "127.0.0.1",
    },
    depth: 0,
    digest: "sha256:0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a",
    expires_at: timestamp(now + month),
  }
}

function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
