// Reads and changes the stored copies of one organization. Each change is one commit that adds and removes files of the copy.
// A concurrent change by another node makes the commit fail.
import { AppError, type Clock, derivedUuid, type Store, timestamp, type UnitsOfWork } from "#core"
import {
  CopiesCollection,
  type Copy,
  NotesCollection,
  type ReplacedFor,
  type RowNote,
  type Segment,
  SegmentsCollection,
} from "../collections.ts"
import { schemaVersion } from "../event-columns.ts"
import type { SegmentFiles } from "../segments/segment-files.ts"
import { breakReplaced, sweepKept, sweepReplaced } from "./replaced.ts"
import type { WrittenSegment } from "./segment-engine.ts"

export interface CopyStoreDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly files: SegmentFiles
}

export interface NewSegment extends WrittenSegment {
  readonly id: string
  readonly day: string
  readonly draft: string
}

export interface CopyChange {
  readonly add: readonly NewSegment[]
  readonly replace: readonly Segment[]
  /** Cause of the replacement. Default: their rows changed. */
  readonly because?: ReplacedFor
  readonly set: Partial<Pick<Copy, "cursor" | "as_of" | "caught_up" | "missed">>
}

export class CopyStore {
  readonly #deps: CopyStoreDeps
  readonly organization: string

  constructor(deps: CopyStoreDeps, organization: string) {
    this.#deps = deps
    this.organization = organization
  }

  async copies(): Promise<{ live: Copy | undefined; building: Copy | undefined }> {
    const all = await this.#deps.store.open(CopiesCollection, this.organization).find({}, { limit: 10 })
    return { live: all.find(({ state }) => state === "live"), building: all.find(({ state }) => state === "building") }
  }

  /** Creates the organization's first copy, once across nodes. */
  async first(): Promise<void> {
    const id = derivedUuid("page-analytics-copy", this.organization)
    await this.#insert({ ...this.#fresh(id), state: "live" })
  }

  /** Creates a second copy to replace the live copy once it has caught up. Repeated calls create one copy. */
  async rebuild(live: Copy): Promise<void> {
    await this.#insert(this.#successorOf(live))
  }

  /**
   * Handles a missing segment file. A live copy remains as it is, and a second copy starts in the same commit; a copy being built
   * restarts. Returns false if no copy lists the segment any more, or if this was already done.
   */
  async giveUp({ id }: Segment): Promise<boolean> {
    const segment = await this.#deps.store.open(SegmentsCollection, this.organization).get(id)
    // Files are deleted only after their segment was replaced. A listed segment with a missing file is therefore lost.
    if (segment?.replaced_at !== null) return false
    const { live, building } = await this.copies()
    if (building?.id === segment.copy_id) {
      const replace = await this.segments(building)
      await this.change(building, { add: [], replace, set: { cursor: null, as_of: null, caught_up: false } })
      return true
    }
    if (live?.id !== segment.copy_id || live.lost) return false
    await this.#deps.works.run((work) => {
      const copies = work.in(CopiesCollection, this.organization)
      const $set = { lost: true, missed: null, caught_up: false, revision: live.revision + 1 }
      copies.update(live.id, { $set }, { where: { revision: live.revision } })
      if (!building) copies.insert(this.#successorOf(live), { ifPresent: "keep" })
    })
    return true
  }

  segments(copy: Copy): Promise<Segment[]> {
    return liveSegments(this.#deps.store, this.organization, copy.id)
  }

  notes(limit: number): Promise<RowNote[]> {
    return this.#deps.store.open(NotesCollection, this.organization).find({}, { limit })
  }

  async removeNotes(notes: readonly RowNote[]): Promise<void> {
    if (notes.length === 0) return
    await this.#deps.works.run((work) => {
      for (const { id } of notes) work.in(NotesCollection, this.organization).remove(id, { optional: true })
    })
  }

  /** Stores the files first, then commits. A refused commit deletes its files again. Returns the changed copy. */
  async change(copy: Copy, { add, replace, because = "rows", set }: CopyChange): Promise<Copy> {
    const { files, works, clock } = this.#deps
    const keys = add.map(({ day, id }) => files.keyOf(day, id))
    try {
      for (const [index, { draft }] of add.entries()) await files.store(this.organization, keys[index] ?? "", draft)
      const now = timestamp(clock.now())
      await works.run((work) => {
        const segments = work.in(SegmentsCollection, this.organization)
        for (const [index, { draft: _, ...segment }] of add.entries()) {
          segments.insert({
            ...segment,
            copy_id: copy.id,
            key: keys[index] ?? "",
            schema: schemaVersion,
            sealed_at: now,
            replaced_at: null,
            added_in: copy.revision + 1,
          })
        }
        const $set = { replaced_at: now, replaced_in: copy.revision + 1, replaced_for: because }
        for (const { id } of replace) segments.update(id, { $set }, { where: { replaced_at: null } })
        work
          .in(CopiesCollection, this.organization)
          .update(copy.id, { $set: { ...set, revision: copy.revision + 1 } }, { where: { revision: copy.revision } })
      })
    } catch (error) {
      for (const key of keys) await files.remove(this.organization, key).catch(() => undefined)
      throw error
    }
    return { ...copy, ...set, revision: copy.revision + 1 }
  }

  /** Makes the building copy live and replaces the segments of the live copy. */
  async promote(live: Copy, building: Copy): Promise<void> {
    const old = await this.segments(live)
    const now = timestamp(this.#deps.clock.now())
    await this.#deps.works.run((work) => {
      const $set = { replaced_at: now, replaced_in: live.revision + 1, replaced_for: "rebuild" as const }
      for (const { id } of old) work.in(SegmentsCollection, this.organization).update(id, { $set })
      const copies = work.in(CopiesCollection, this.organization)
      copies.remove(live.id, { where: { revision: live.revision } })
      copies.update(building.id, { $set: { state: "live", revision: building.revision + 1 } }, { where: { revision: building.revision } })
    })
  }

  /** Removes files that no query can still be reading. */
  sweep(before: number): Promise<void> {
    return sweepReplaced(this.#deps, this.organization, before)
  }

  /** Removes files of expired snapshots. */
  sweepKept(): Promise<void> {
    return sweepKept(this.#deps, this.organization)
  }

  /** Marks replaced segments with deleted rows as unreadable. */
  breakReplaced(isBroken: (segment: Segment) => boolean | Promise<boolean>): Promise<void> {
    return breakReplaced(this.#deps, this.organization, isBroken)
  }

  #fresh(id: string): Omit<Copy, "state"> {
    return { id, cursor: null, as_of: null, caught_up: false, revision: 1, created_at: timestamp(this.#deps.clock.now()) }
  }

  #successorOf(live: Copy): Copy {
    return { ...this.#fresh(derivedUuid("page-analytics-copy", live.id)), state: "building" }
  }

  async #insert(copy: Copy): Promise<void> {
    await this.#deps.works.run((work) => work.in(CopiesCollection, this.organization).insert(copy, { ifPresent: "keep" }))
  }
}

export async function liveSegments(store: Store, organization: string, copyId: string): Promise<Segment[]> {
  const segments: Segment[] = []
  const filter = { copy_id: copyId, replaced_at: null }
  for await (const segment of store.open(SegmentsCollection, organization).stream(filter)) segments.push(segment)
  return segments
}

export function isConflict(error: unknown): boolean {
  return error instanceof AppError && (error.code === "aborted" || error.code === "not_found")
}
