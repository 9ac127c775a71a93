// Brings one organization's copy up to date: reads rows in order from the cursor, seals them, and rewrites segments with changed
// or deleted rows. Its memory is only a cache of the store and can be rebuilt.
import { type Clock, type Ids, timestamp } from "#core"
import type { Dataset, Datasets, Row } from "../../../data/datasets/index.ts"
import type { Copy, RowNote, Segment } from "../collections.ts"
import type { SegmentFiles } from "../segments/segment-files.ts"
import { toFinish, toMerge } from "./compaction.ts"
import type { CopyStore, NewSegment } from "./copy-store.ts"
import { longEveryMs, longOverlapMs, RecentRows, type SegmentVersion, shortOverlapMs } from "./overlap.ts"
import { RowLines } from "./row-lines.ts"
import type { SegmentEngine } from "./segment-engine.ts"

export interface SealerDeps {
  readonly datasets: Datasets
  readonly clock: Clock
  readonly ids: Ids
  readonly files: SegmentFiles
  readonly engine: SegmentEngine
  readonly segmentRows: number
  readonly keepDays: number
}

/** Bounds: new rows per reading, and rows per batch for writing. */
const batchRows = 200_000
const handedOn = 50_000
const dayMs = 86_400_000

interface Reading {
  lines: RowLines
  /** Full batches, written during the reading. */
  readonly writing: Promise<NewSegment[]>[]
  readonly taken: Map<string, SegmentVersion>
  /** Rows whose earlier version must be removed, with their times of receipt. */
  readonly stale: Map<string, string>
  lastRead: string | null
  full: boolean
}

export class Sealer {
  readonly #deps: SealerDeps
  readonly #copies: CopyStore
  /** By copy. */
  readonly #recent = new Map<string, { readonly rows: RecentRows; longDue: number }>()

  constructor(deps: SealerDeps, copies: CopyStore) {
    this.#deps = deps
    this.#copies = copies
  }

  /** Clears the cache, since it may be outdated. */
  forget(): void {
    this.#recent.clear()
  }

  /** Runs one reading. `caughtUp` is true if it reached the last row. */
  async advance(copy: Copy, dataset: Dataset, notes: readonly RowNote[]): Promise<{ copy: Copy; caughtUp: boolean }> {
    const { clock, files } = this.#deps
    const now = clock.now()
    const state = await this.#recentOf(copy)
    const long = clock.monotonic() >= state.longDue
    const reading: Reading = {
      lines: new RowLines(() => files.draft("ndjson")),
      writing: [],
      taken: new Map(),
      stale: new Map(),
      lastRead: copy.cursor,
      full: false,
    }
    try {
      await this.#readNotes(reading, dataset, notes)
      await this.#readOn(reading, dataset, since(copy, long ? longOverlapMs : shortOverlapMs, now, this.#deps.keepDays), state.rows)
      const add = (await Promise.all([...reading.writing, this.#writeSegments(reading.lines)])).flat()
      const rewritten = await this.#without(await this.#copies.segments(copy), reading.stale)
      const cursor = earlier(reading.lastRead, timestamp(now))
      const caught_up = !reading.full
      const changed = add.length > 0 || rewritten.replace.length > 0 || copy.caught_up !== caught_up
      const as_of = reading.full ? copy.as_of : timestamp(now)
      const next = changed
        ? await this.#copies.change(copy, {
            add: [...add, ...rewritten.add],
            replace: rewritten.replace,
            set: { cursor, as_of, caught_up },
          })
        : copy
      for (const [id] of reading.stale) state.rows.forget(id)
      await state.rows.addSealed(reading.taken)
      if (cursor !== null) await state.rows.dropBefore(timestamp(Date.parse(cursor) - longOverlapMs - 1_000))
      if (long && !reading.full) state.longDue = clock.monotonic() + longEveryMs
      return { copy: next, caughtUp: caught_up }
    } catch (error) {
      this.#recent.delete(copy.id)
      throw error
    } finally {
      await reading.lines.discard()
    }
  }

  /** Merges once if worthwhile. Returns true after a merge. */
  async compact(copy: Copy): Promise<boolean> {
    const { segmentRows, clock } = this.#deps
    const segments = await this.#copies.segments(copy)
    const today = timestamp(clock.now() - dayMs / 24).slice(0, 10)
    const merged = toMerge(segments, segmentRows) ?? toFinish(segments, segmentRows, today)
    if (!merged) return false
    const newSegment = await this.#merged(merged, [])
    await this.#copies.change(copy, { add: newSegment ? [newSegment] : [], replace: merged, because: "merge", set: {} })
    return true
  }

  /** Replaces a day of the copy with the day's current rows in the store. */
  async resealDay(copy: Copy, dataset: Dataset, day: string): Promise<void> {
    const { datasets, files, segmentRows } = this.#deps
    const filter = { dataset_id: dataset.id, created_at: dayRange(day) }
    const add: NewSegment[] = []
    let lines = new RowLines(() => files.draft("ndjson"))
    let rows = 0
    try {
      for await (const row of datasets.rows(this.#copies.organization).stream(filter, { sort: { created_at: 1 } })) {
        await lines.add(row)
        if (++rows % segmentRows !== 0) continue
        add.push(...(await this.#writeSegments(lines)))
        lines = new RowLines(() => files.draft("ndjson"))
      }
      add.push(...(await this.#writeSegments(lines)))
    } finally {
      await lines.discard()
    }
    const replace = (await this.#copies.segments(copy)).filter((segment) => segment.day === day)
    await this.#copies.breakReplaced((segment) => segment.day === day)
    await this.#copies.change(copy, { add, replace, set: {} })
  }

  async #recentOf(copy: Copy) {
    const recent = this.#recent.get(copy.id)
    if (recent) return recent
    const rows = new RecentRows()
    if (copy.cursor !== null) {
      const from = timestamp(Date.parse(copy.cursor) - longOverlapMs)
      const segments = (await this.#copies.segments(copy)).filter(({ last_at }) => last_at >= from)
      for (const part of partsOf(segments)) {
        const sealed = await this.#onFiles(part, (files) => this.#deps.engine.run({ kind: "recent", files, since: from }))
        // The time of receipt is at most the cursor. An earlier time would drop the rows while readings still encounter them.
        for (const [id, version] of sealed) rows.sealed(id, { version, receivedAt: copy.cursor })
      }
    }
    // The first reading starts far back: changes while no node sealed are unknown.
    const state = { rows, longDue: 0 }
    this.#recent.set(copy.id, state)
    return state
  }

  /** Adds the current versions of noted rows; missing rows are only removed. */
  async #readNotes(reading: Reading, dataset: Dataset, notes: readonly RowNote[]): Promise<void> {
    const rows = this.#deps.datasets.rows(this.#copies.organization)
    for (const { row_id, received_at } of notes) {
      if (reading.stale.has(row_id)) continue
      const row = await rows.get(row_id)
      reading.stale.set(row_id, row?.created_at ?? received_at)
      const flushing = row?.dataset_id === dataset.id ? this.#take(reading, row) : undefined
      if (flushing) await flushing
    }
  }

  async #readOn(reading: Reading, dataset: Dataset, from: string, recent: RecentRows): Promise<void> {
    const filter = { dataset_id: dataset.id, created_at: { $gte: from } }
    for await (const row of this.#deps.datasets.rows(this.#copies.organization).stream(filter, { sort: { created_at: 1 } })) {
      reading.lastRead = later(reading.lastRead, row.created_at)
      if (reading.taken.has(row.id)) continue
      const sealed = recent.versionOf(row.id)
      if (sealed === row.updated_at) continue
      if (sealed !== undefined) reading.stale.set(row.id, row.created_at)
      const flushing = this.#take(reading, row)
      if (flushing) await flushing
      if (reading.taken.size < batchRows) continue
      reading.full = true
      return
    }
  }

  #take(reading: Reading, row: Row): Promise<void> | undefined {
    reading.taken.set(row.id, { version: row.updated_at, receivedAt: row.created_at })
    if (reading.lines.rows >= handedOn) this.#handOn(reading)
    return reading.lines.add(row)
  }

  #handOn(reading: Reading): void {
    const segments = this.#writeSegments(reading.lines)
    // A failure is reported when all results are collected.
    segments.catch(() => undefined)
    reading.writing.push(segments)
    reading.lines = new RowLines(() => this.#deps.files.draft("ndjson"))
  }

  async #writeSegments(lines: RowLines): Promise<NewSegment[]> {
    const segments: NewSegment[] = []
    try {
      for (const { day, path } of await lines.finish()) {
        const draft = this.#deps.files.draft("parquet")
        segments.push({
          id: this.#deps.ids.uuid(),
          day,
          draft,
          ...(await this.#deps.engine.run({ kind: "write", rows: path, out: draft })),
        })
      }
    } finally {
      await lines.discard()
    }
    return segments
  }

  /** Rewrites the segments that contain one of the rows, without those rows. */
  async #without(segments: readonly Segment[], stale: ReadonlyMap<string, string>): Promise<{ add: NewSegment[]; replace: Segment[] }> {
    const out: { add: NewSegment[]; replace: Segment[] } = { add: [], replace: [] }
    if (stale.size === 0) return out
    await this.#breakReplaced(stale)
    const rowIds = [...stale.keys()]
    const times = [...stale.values()]
    const within = segments.filter((segment) => times.some((time) => time >= segment.first_at && time <= segment.last_at))
    for (const part of partsOf(within)) {
      const holding = await this.#onFiles(part, async (files) => {
        const fileIds = new Set(await this.#deps.engine.run({ kind: "holding", files, rowIds }))
        return part.filter((_, index) => fileIds.has(files[index] ?? ""))
      })
      for (const segment of holding) {
        out.replace.push(segment)
        const rewritten = await this.#merged([segment], rowIds)
        if (rewritten) out.add.push(rewritten)
      }
    }
    return out
  }

  /** Replaced files readable by snapshots must not contain such a row either. */
  async #breakReplaced(stale: ReadonlyMap<string, string>): Promise<void> {
    const rowIds = [...stale.keys()]
    const times = [...stale.values()]
    await this.#copies.breakReplaced(async (segment) => {
      if (!times.some((time) => time >= segment.first_at && time <= segment.last_at)) return false
      try {
        const files = await this.#deps.files.local(this.#copies.organization, [segment])
        return (await this.#deps.engine.run({ kind: "holding", files, rowIds })).length > 0
      } catch {
        // An unreadable file may contain the row.
        return true
      }
    })
  }

  async #merged(segments: readonly Segment[], without: readonly string[]): Promise<NewSegment | undefined> {
    const { engine, ids } = this.#deps
    const draft = this.#deps.files.draft("parquet")
    const output = await this.#onFiles(segments, (files) => engine.run({ kind: "merge", files, without, out: draft }))
    return output ? { id: ids.uuid(), day: segments[0]?.day ?? "", draft, ...output } : undefined
  }

  /** Throws SegmentMissing if the engine failed because of a missing file. The engine itself reports it only in its message. */
  async #onFiles<T>(segments: readonly Segment[], task: (files: readonly string[]) => Promise<T>): Promise<T> {
    const { organization } = this.#copies
    const paths = await this.#deps.files.local(organization, segments)
    try {
      return await task(paths)
    } catch (error) {
      await this.#deps.files.require(organization, segments)
      throw error
    }
  }
}

function since(copy: Copy, overlapMs: number, now: number, keepDays: number): string {
  const oldest = now - keepDays * dayMs
  return timestamp(copy.cursor === null ? oldest : Math.max(oldest, Date.parse(copy.cursor) - overlapMs))
}

export function dayRange(day: string): { $gte: string; $lt: string } {
  const from = Date.parse(`${day}T00:00:00.000Z`)
  return { $gte: timestamp(from), $lt: timestamp(from + dayMs) }
}

function later(a: string | null, b: string): string {
  return a === null || b > a ? b : a
}

/** Prevents a node with a fast clock from moving the cursor into the future. */
function earlier(a: string | null, b: string): string | null {
  return a === null || a < b ? a : b
}

function* partsOf(segments: readonly Segment[]): Generator<Segment[]> {
  for (let first = 0; first < segments.length; first += 100) yield segments.slice(first, first + 100)
}
