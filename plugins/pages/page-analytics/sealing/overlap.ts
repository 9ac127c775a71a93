// Rows have no commit sequence number. They are read in order of receipt, but a row received earlier may be committed later, by
// any node. So each reading starts shortly before the end of the last one, and now and then long before it. Sealed rows are
// skipped by id and version. A row written even later (by a replay or a slow queue) leaves a note in its own commit. A commit
// that hung longer than the long overlap is found by the count of its day.

import { type Clock, giveWay, type Ids, timestamp } from "#core"
import type { RowWatcher } from "../../../data/datasets/index.ts"
import { CopiedOrganizations, NotesCollection } from "../collections.ts"

/** Overlap of each reading. */
export const shortOverlapMs = 5_000
/** Overlap of one reading per `longEveryMs`. Versions of rows up to this age are cached in memory. */
export const longOverlapMs = 60_000
export const longEveryMs = 30_000
/**
 * A row staged this long after its event's receipt leaves a note. The difference to the short overlap is the usual time of a
 * commit.
 */
const lateMs = 3_000

/** Rows processed before other work gets a turn. */
const rowsBetweenTurns = 5_000

export interface SegmentVersion {
  readonly version: string
  readonly receivedAt: string
}

/** Recently received rows of a copy, with their sealed versions. */
export class RecentRows {
  readonly #rows = new Map<string, SegmentVersion>()

  versionOf(id: string): string | undefined {
    return this.#rows.get(id)?.version
  }

  sealed(id: string, version: SegmentVersion): void {
    this.#rows.set(id, version)
  }

  /** Like `sealed`, with turns for other work. */
  async addSealed(rows: ReadonlyMap<string, SegmentVersion>): Promise<void> {
    let count = 0
    for (const [id, version] of rows) {
      this.#rows.set(id, version)
      if (++count % rowsBetweenTurns === 0) await giveWay()
    }
  }

  forget(id: string): void {
    this.#rows.delete(id)
  }

  async dropBefore(receivedAt: string): Promise<void> {
    let count = 0
    for (const [id, version] of this.#rows) {
      if (version.receivedAt < receivedAt) this.#rows.delete(id)
      if (++count % rowsBetweenTurns === 0) await giveWay()
    }
  }
}

interface RowNotesDeps {
  readonly clock: Clock
  readonly ids: Ids
  /** Organizations with a recorded copy. */
  readonly copied: ReadonlySet<string>
}

/**
 * Watches writes to the page events dataset. Records organizations with events, and notes rows that the ordered reading would
 * miss. Both are part of the row's own commit.
 */
export function rowNotes({ clock, ids, copied }: RowNotesDeps): RowWatcher {
  // A new note each time: a note already being processed must not also stand for a later change.
  const note: RowWatcher["removed"] = (work, organization, { id, received_at }) =>
    work.in(NotesCollection, organization).insert({ id: ids.uuid(), row_id: id, received_at })
  return {
    written(work, organization, row) {
      const now = clock.now()
      if (!copied.has(organization)) {
        work.in(CopiedOrganizations).insert({ id: organization, since: timestamp(now) }, { ifPresent: "keep" })
      }
      if (now - Date.parse(row.received_at) > lateMs) note(work, organization, row)
    },
    removed: note,
  }
}
