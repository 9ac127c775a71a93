// Finds the event of a row.
import { type Collection, type Document, derivedUuidInOrder, type Store } from "#core"
import { EntryCollection, type JournalEntry } from "#core/engine"
import { executionOf, type Row, unkeyedRowId } from "../../../data/datasets/index.ts"
import type { LeadRow } from "../collections.ts"
import type { RowRef } from "./handovers.ts"

/** Known facts about a row's write. Without execution: a row without a key does not reveal its event. */
export type SeenRow = Omit<RowRef, "execution_id"> & { readonly execution_id?: string | undefined }

/** A row without a lead. `id` is the id of its record. */
export interface Fresh {
  readonly id: string
  readonly ref: SeenRow
  readonly row: Row
}

export type Origin = Pick<LeadRow, "execution_id" | "pipeline">

const unknown: Origin = { execution_id: null, pipeline: null }

/** Limits: elements per step, and journal entries per lookup of received times. */
const [maxElements, maxEntries] = [1_000, 5_000]

/** Returns origins by the id of the fresh row. Omits a row if the event's commit was refused and an earlier event created the row. */
export async function originsOf(store: Store, organization: string, fresh: readonly Fresh[]): Promise<Map<string, Origin>> {
  const entries = store.open(EntryCollection, organization)
  const origins = new Map<string, Origin>()
  const [asked, told]: [Fresh[], Fresh[]] = [[], []]
  for (const one of fresh) {
    const { id, ref, row } = one
    // If the row names the event as its writer, the event was committed.
    if (ref.execution_id === undefined) asked.push(one)
    else if (ref.pipeline && executionOf(row) === ref.execution_id)
      origins.set(id, { execution_id: ref.execution_id, pipeline: ref.pipeline })
    else told.push(one)
  }
  const byId = await allOf(
    entries,
    told.map(({ ref }) => ref.execution_id ?? ""),
  )
  for (const { id, ref, row } of told) {
    const entry = byId.get(ref.execution_id ?? "")
    // A row without a key belongs to a single event, though a replay may have written the row.
    const isOfEvent = !entry || row.position === undefined || entry.rows.some(({ row_id }) => row_id === ref.row_id)
    if (isOfEvent) origins.set(id, entry ? originIn(entry) : unknown)
  }
  if (asked.length === 0) return origins
  // A row has the time of its event's receipt, and its id is derived from the event.
  const times = [...new Set(asked.map(({ row }) => row.created_at))]
  const near = Map.groupBy(await entries.find({ received_at: { $in: times } }, { limit: maxEntries }), ({ received_at }) => received_at)
  for (const { id, row } of asked) {
    const entry = near.get(row.created_at)?.find((one) => hasWritten(one, row))
    origins.set(id, entry ? originIn(entry) : unknown)
  }
  return origins
}

function originIn({ id, pipeline_slug }: JournalEntry): Origin {
  return { execution_id: id, pipeline: pipeline_slug }
}

/** Returns true if a step of the event wrote the row. A failed event lists no rows, but a replay may have written them. */
function hasWritten({ id: executionId, received_at: receivedAt, rows, steps }: JournalEntry, row: Row): boolean {
  if (rows.some(({ row_id }) => row_id === row.id)) return true
  if (row.id.slice(0, 13) !== executionId.slice(0, 13)) return false
  return Object.entries(steps).some(([stepId, { state, result }]) => {
    const elements = state !== "done" ? maxElements : Array.isArray(result) ? result.length : 1
    for (let itemIndex = 0; itemIndex < elements; itemIndex++)
      if (unkeyedRowId({ executionId, stepId, itemIndex, receivedAt }) === row.id) return true
    return false
  })
}

/**
 * Returns the id of a row's record. A row without a key is written once, so the id is derived from the row alone. All ids are in
 * time order.
 */
export function recordIdOf(organization: string, { execution_id, row_id }: SeenRow, row: Row): string {
  const write = row.position === undefined ? row_id : (execution_id ?? row_id)
  return derivedUuidInOrder(write, "lead row", organization, row_id)
}

/** Returns the existing documents by id. */
export async function allOf<D extends Document>(collection: Collection<D>, ids: readonly string[]): Promise<Map<string, D>> {
  const wanted = [...new Set(ids)]
  if (wanted.length === 0) return new Map()
  const found = await collection.find({ id: { $in: wanted } }, { limit: wanted.length })
  return new Map(found.map((document) => [document.id, document]))
}
