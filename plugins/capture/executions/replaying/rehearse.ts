// Runs an earlier event dry through the current pipeline, and compares the outcome with the original.
import { AppError, isRecord, type Json } from "#core"
import { canonicalJson, type DryRun, type JournalEntry, type PipelineEngine, previewOfValue, type StoredPipeline } from "#core/engine"
import type { Outcome } from "./collections.ts"

export interface Rehearsed {
  readonly outcome: Outcome
  readonly detail: string
}

export interface KeptEvent {
  readonly body: string
  readonly headers: Record<string, string>
  readonly query: Record<string, string | string[]>
}

const maxDetail = 200

export async function rehearse(engine: PipelineEngine, stored: StoredPipeline, entry: JournalEntry, kept: KeptEvent): Promise<Rehearsed> {
  try {
    const { event_id, event_type } = entry.verdict
    const origin = {
      id: entry.id,
      receivedAt: Date.parse(entry.received_at),
      ...(event_id === null ? {} : { eventId: event_id }),
      ...(event_type === null ? {} : { eventType: event_type }),
      ...(entry.envelope === null ? {} : { envelope: entry.envelope }),
      isTest: entry.is_test,
    }
    const query = Object.fromEntries(
      Object.entries(kept.query).map(([name, value]) => [name, typeof value === "string" ? value : value.join(",")]),
    )
    return compared(entry, await engine.dryRun(stored, { body: kept.body, headers: kept.headers, query, origin }))
  } catch (error) {
    if (error instanceof AppError && error.code === "failed_precondition") return fails(`transform: ${error.message}`)
    throw error
  }
}

function compared(entry: JournalEntry, run: DryRun): Rehearsed {
  if (run.schema_errors.length > 0) {
    const pointers = run.schema_errors.map((error) => String((error as { pointer?: Json }).pointer))
    return fails(`schema: ${[...new Set(pointers)].sort().join(", ")}`)
  }
  const failed = (run.steps as { id: string; state: string }[]).find(({ state }) => state === "failed")
  if (failed) return fails(`step ${failed.id}`)
  if (entry.status !== "accepted") return { outcome: "accepted_now", detail: cut(entry.cause) }
  const now = previewOfValue(run.transformed, JSON.stringify(run.transformed))
  const fields = differingFields(entry.transformed, now)
  const reply = run.effects.response
  if (entry.response && reply && entry.response.status !== reply.status) fields.push("reply")
  return fields.length === 0 ? { outcome: "same", detail: "" } : { outcome: "differs", detail: cut(fields.join(", ")) }
}

/** Returns the names of differing top-level fields, or "event" if one value is not an object. */
function differingFields(before: Json, now: Json): string[] {
  if (JSON.stringify(before) === JSON.stringify(now)) return []
  if (!isRecord(before) || !isRecord(now)) return ["event"]
  const names = new Set([...Object.keys(before), ...Object.keys(now)])
  return [...names].filter((name) => canonicalJson(before[name] ?? null) !== canonicalJson(now[name] ?? null)).sort()
}

function fails(detail: string): Rehearsed {
  return { outcome: "fails", detail: cut(detail) }
}

function cut(text: string): string {
  return text.slice(0, maxDetail)
}
