// Watches the dataset of page events: which organizations have one, and rows that the reading in order would not see.
// What it leaves is part of the commit that writes or removes the row, so that neither is there without the other.
import { type Clock, type Ids, timestamp } from "#core"
import type { RowWatcher } from "../../../data/datasets/index.ts"
import { CopiedOrganizations, NotesCollection } from "../collections.ts"
import { lateMs } from "./overlap.ts"

export interface RowNotesDeps {
  readonly clock: Clock
  readonly ids: Ids
  /** Organizations whose copy is known to be wanted. */
  readonly copied: ReadonlySet<string>
}

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
