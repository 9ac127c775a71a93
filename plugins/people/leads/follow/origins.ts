// Which event a row is of.
import { type Collection, type Document, derivedUuidInOrder, type Store } from "#core"
import { EntryCollection, type JournalEntry } from "#core/engine"
import { executionOf, type Row, unkeyedRowId } from "../../../data/datasets/index.ts"
import type { LeadRow } from "../collections.ts"
import type { RowRef } from "./handovers.ts"

/** What is known of a row's write. No execution: a row without a key, which does not tell by which event it was written. */
export type SeenRow = Omit<RowRef, "execution_id"> & { readonly execution_id?: string | undefined }

/** A row that no lead has yet; `id` is that of its record. */
export interface Fresh {
  readonly id: string
  readonly ref: SeenRow
  readonly row: Row
}

export type Origin = Pick<LeadRow, "execution_id" | "pipeline">

const unknown: Origin = { execution_id: null, pipeline: null }

/** Most elements of a step, and entries of the milliseconds that are asked for at once. */
const [maxElements, maxEntries] = [1_000, 5_000]

/** By the id of the fresh row; none of an event whose commit was refused, while an earlier one had made the row. */
export async function originsOf(store: Store, organization: string, fresh: readonly Fresh[]): Promise<Map<string, Origin>> {
  const entries = store.open(EntryCollection, organization)
  const origins = new Map<string, Origin>()
  const [asked, told]: [Fresh[], Fresh[]] = [[], []]
  for (const one of fresh) {
    const { id, ref, row } = one
    // A row that names the event as its writer is proof of its commit.
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
    // A row without a key is of one event alone, though a replay of it may have written it.
    const isOfEvent = !entry || row.position === undefined || entry.rows.some(({ row_id }) => row_id === ref.row_id)
    if (isOfEvent) origins.set(id, entry ? originIn(entry) : unknown)
  }
  if (asked.length === 0) return origins
  // A row is made at the time at which its event was received, and its id follows from the event's.
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

/** Whether the row is of a step of that event; one that failed names no rows, but a replay of it may have written them. */
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

/** Of the record of a row: of a row without a key, which is written once, by the row alone. Either id is in order of time. */
export function recordIdOf(organization: string, { execution_id, row_id }: SeenRow, row: Row): string {
  const write = row.position === undefined ? row_id : (execution_id ?? row_id)
  return derivedUuidInOrder(write, "lead row", organization, row_id)
}

/** The documents of the ids that are there. */
export async function allOf<D extends Document>(collection: Collection<D>, ids: readonly string[]): Promise<Map<string, D>> {
  const wanted = [...new Set(ids)]
  if (wanted.length === 0) return new Map()
  const found = await collection.find({ id: { $in: wanted } }, { limit: wanted.length })
  return new Map(found.map((document) => [document.id, document]))
}
