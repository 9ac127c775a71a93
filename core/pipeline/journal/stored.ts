// The stored form of entries without derivable fields. In most entries most fields are empty. Full entries took half of an
// event's bytes on disk.

import { rowsIn, type WrittenRow } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import { isRecord } from "../../kernel/json.ts"
import type { JournalEntry, StepRecord } from "./entry.ts"

type Stored = Omit<Partial<JournalEntry>, "steps" | "verdict"> & {
  steps?: Record<string, Partial<StepRecord> & Pick<StepRecord, "type">>
  verdict?: Partial<JournalEntry["verdict"]>
}

/** Returns the stored form of an entry. Filter fields of lists (pipeline, status, test, time) are always present. */
export function storedEntry(entry: JournalEntry): JournalEntry {
  const { verdict, request, received_at, steps, envelope } = entry
  const stored: Stored = {
    id: entry.id,
    pipeline_id: entry.pipeline_id,
    pipeline_slug: entry.pipeline_slug,
    revision: entry.revision,
    status: entry.status,
    received_at,
    is_test: entry.is_test,
    verdict: storedVerdict(verdict),
    timings: entry.timings,
    digest: entry.digest,
    expires_at: entry.expires_at,
  }
  if (entry.cause !== "") stored.cause = entry.cause
  if (entry.error !== null) stored.error = entry.error
  if (entry.payload_preview !== "") stored.payload_preview = entry.payload_preview
  if (request !== null) stored.request = isEmpty(request.query) ? ({ headers: request.headers } as JournalEntry["request"]) : request
  if (entry.response !== null) stored.response = entry.response
  if (entry.dedupe !== null) stored.dedupe = entry.dedupe
  if (entry.schema_errors.length > 0) stored.schema_errors = entry.schema_errors
  if (entry.transformed !== null) stored.transformed = entry.transformed
  if (!isEmpty(steps)) stored.steps = storedSteps(steps)
  if (!sameRows(entry.rows, rowsOf(steps))) stored.rows = entry.rows
  if (isRecord(envelope)) stored.envelope = storedEnvelope(envelope, entry)
  storeRare(stored, entry)
  return stored as JournalEntry
}

/** Stores the rare fields: repeats, replays, counts, warnings and logs. */
function storeRare(stored: Stored, entry: JournalEntry): void {
  if (entry.repeat_of !== null) stored.repeat_of = entry.repeat_of
  if (entry.replay_of !== null) stored.replay_of = entry.replay_of
  if (entry.forced) stored.forced = true
  if (entry.count !== 1) stored.count = entry.count
  if (entry.first_at !== entry.received_at) stored.first_at = entry.first_at
  if (entry.last_at !== entry.received_at) stored.last_at = entry.last_at
  if (entry.warnings.length > 0) stored.warnings = entry.warnings
  if (entry.logs.length > 0) stored.logs = entry.logs
  if (entry.depth !== 0) stored.depth = entry.depth
}

/** Frequent text of stored entries, in field order. */
export const entryPhrases = [
  '"pipeline_slug":"',
  '","revision":',
  ',"verdict":{"ok":',
  ',"mode":"',
  '","secret_id":"',
  '"},"timings":{"verify":',
  ',"sandbox":',
  ',"run":',
  '},"digest":"',
  ',"payload_preview":"',
  '","request":{"headers":{"',
  'content-type":"application/json',
  'user-agent":"',
  '"}},"response":{"status":',
  ',"body":"',
  '{\\"status\\":\\"accepted\\",\\"execution_id\\":\\"',
  ',"transformed":{"',
  '},"steps":{"',
  '":{"type":"',
  '","duration_ms":',
  ',"result":{"row_id":"',
  '","dataset_slug":"',
  '},"envelope":{',
]

/** Returns the whole entry. Stored fields stay unchanged. */
export function restoredEntry(document: JournalEntry): JournalEntry {
  const stored = document as Stored & Pick<JournalEntry, "id" | "received_at" | "is_test">
  const { received_at } = stored
  const verdict = { ok: false, mode: "", cause: "", message: "", secret_id: null, event_id: null, event_type: null, ...stored.verdict }
  const steps: Record<string, StepRecord> = {}
  for (const [id, step] of Object.entries(stored.steps ?? {})) steps[id] = { ...plainStep, ...step }
  const envelope = stored.envelope ?? null
  return {
    cause: "",
    error: null,
    payload_preview: "",
    response: null,
    repeat_of: null,
    replay_of: null,
    forced: false,
    count: 1,
    first_at: received_at,
    last_at: received_at,
    dedupe: null,
    schema_errors: [],
    warnings: [],
    logs: [],
    transformed: null,
    timings: {},
    rows: rowsOf(steps),
    depth: 0,
    ...stored,
    request: stored.request ? { query: {}, ...(stored.request as Partial<typeof stored.request>) } : null,
    verdict,
    steps,
    envelope: isRecord(envelope) ? { ...plainEnvelope, ...known(stored, verdict), ...envelope } : envelope,
  } as JournalEntry
}

function storedVerdict({ ok, mode, cause, message, secret_id, event_id, event_type }: JournalEntry["verdict"]) {
  const stored: Stored["verdict"] = { ok, mode }
  if (cause !== "") stored.cause = cause
  if (message !== "") stored.message = message
  if (secret_id !== null) stored.secret_id = secret_id
  if (event_id !== null) stored.event_id = event_id
  if (event_type !== null) stored.event_type = event_type
  return stored
}

const plainStep = { state: "done", attempts: 1, duration_ms: 0, result: null, error: null } as const

function storedSteps(steps: JournalEntry["steps"]): NonNullable<Stored["steps"]> {
  const all: NonNullable<Stored["steps"]> = {}
  for (const id in steps) {
    const { type, state, attempts, duration_ms, result, error, next_at } = steps[id] as StepRecord
    const stored: Partial<StepRecord> & Pick<StepRecord, "type"> = { type, duration_ms }
    if (state !== plainStep.state) stored.state = state
    if (attempts !== plainStep.attempts) stored.attempts = attempts
    if (result !== null) stored.result = result
    if (error !== null) stored.error = error
    if (next_at !== undefined) stored.next_at = next_at
    all[id] = stored
  }
  return all
}

/** Returns the rows in the results of finished steps. */
function rowsOf(steps: JournalEntry["steps"]): WrittenRow[] {
  const rows: WrittenRow[] = []
  for (const step in steps) for (const row of rowsIn(step, steps[step]?.result)) rows.push(row)
  return rows
}

function sameRows(some: readonly WrittenRow[], others: readonly WrittenRow[]): boolean {
  return some.length === others.length && some.every((row, at) => row.row_id === others[at]?.row_id && row.step === others[at]?.step)
}

/** Columns of the envelope that are usually "". */
const plainEnvelope = { device_type: "", browser: "", in_app: "", language: "", country: "", region: "", city: "" }

type Known = { received_at: string; is_test: boolean; event_id: string; event_type: string }

/** Returns the fields that an envelope shares with its entry. */
function known(entry: { received_at: string; is_test: boolean }, { event_id, event_type }: JournalEntry["verdict"]): Known {
  return { received_at: entry.received_at, is_test: entry.is_test, event_id: event_id ?? "", event_type: event_type ?? "" }
}

function storedEnvelope(envelope: { readonly [name: string]: Json }, entry: JournalEntry): { [name: string]: Json } {
  const repeated = known(entry, entry.verdict)
  const stored: { [name: string]: Json } = {}
  for (const name in envelope) {
    const value = envelope[name] as Json
    const plain = name in plainEnvelope ? "" : repeated[name as keyof Known]
    if (value !== plain) stored[name] = value
  }
  return stored
}

function isEmpty(record: object): boolean {
  for (const _ in record) return false
  return true
}
