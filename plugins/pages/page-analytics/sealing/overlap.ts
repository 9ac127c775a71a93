// Rows have no commit sequence number: they are read in order of receipt, and a row received earlier may be committed
// later, by this node or another. So each reading starts shortly before the end of the last one (now and then long before
// it), and skips by id and version what was sealed already. A row written later than that, by a replay or a slow queue,
// leaves a note in its own commit. A commit that hung for longer than the long overlap is found by the count of its day.

import { type Clock, giveWay, type Ids, timestamp } from "#core"
import type { RowWatcher } from "../../../data/datasets/index.ts"
import { CopiedOrganizations, NotesCollection } from "../collections.ts"

/** Of each reading. */
export const shortOverlapMs = 5_000
/** Of one reading in `longEveryMs`; versions of rows this old are kept in memory. */
export const longOverlapMs = 60_000
export const longEveryMs = 30_000
/** A row staged this long after its event was received leaves a note. Less than the short overlap by the time that a commit usually takes. */
const lateMs = 3_000

/** Rows that one piece of work looks at. */
const rowsBetweenTurns = 5_000

export interface SegmentVersion {
  readonly version: string
  readonly receivedAt: string
}

/** Rows of a copy that were received recently, and in which version they were sealed. */
export class RecentRows {
  readonly #rows = new Map<string, SegmentVersion>()

  versionOf(id: string): string | undefined {
    return this.#rows.get(id)?.version
  }

  sealed(id: string, version: SegmentVersion): void {
    this.#rows.set(id, version)
  }

  /** As `sealed`, with turns for other work. */
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
  /** Organizations whose copy is known to be wanted. */
  readonly copied: ReadonlySet<string>
}

/**
 * Watches the dataset of page events: which organizations have one, and rows that the reading in order would not see.
 * What it leaves is part of the commit that writes or removes the row, so that neither is there without the other.
 */
export function rowNotes({ clock, ids, copied }: RowNotesDeps): RowWatcher {
  // A note of its own each time: one that is being looked at when the row changes again must not stand for both.
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
