// Replaced segments. Their files are deleted once no query can be reading them. A segment with unchanged rows stays while a
// snapshot needs it.
import { type Clock, type Store, timestamp, type UnitsOfWork } from "#core"
import { ReportsCollection, type Segment, SegmentsCollection, type SnapshotPlace, SnapshotsCollection } from "../collections.ts"
import type { SegmentFiles } from "../segments/segment-files.ts"

export interface ReplacedDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly files: SegmentFiles
}

/** Snapshots per organization, besides those of reports. The oldest are deleted first. */
const maxSnapshots = 2_000
const atOnce = 500

/** Returns true if the segment was live at that revision of its copy. */
export function isOf(
  { copy_id, added_in = 0, replaced_at, replaced_in }: Segment,
  place: Pick<SnapshotPlace, "copy_id" | "revision">,
): boolean {
  if (copy_id !== place.copy_id || added_in > place.revision) return false
  return replaced_at === null || (replaced_in !== undefined && replaced_in > place.revision)
}

/** Returns true if a replaced segment still holds its original rows. */
export function isReadable({ replaced_for, gone }: Segment): boolean {
  return !gone && (replaced_for === "merge" || replaced_for === "rebuild")
}

/** Removes segments replaced before this time. */
export async function sweepReplaced(deps: ReplacedDeps, organization: string, before: number): Promise<void> {
  const { store, files, works } = deps
  const due = await store
    .open(SegmentsCollection, organization)
    .find({ replaced_at: { $lt: timestamp(before) }, kept: null }, { limit: atOnce })
  if (due.length === 0) return
  const places = await placesOf(deps, organization)
  const needed = new Set(due.filter((segment) => places.some((place) => isOf(segment, place))).map(({ id }) => id))
  for (const segment of due) if (!needed.has(segment.id) || !isReadable(segment)) await files.remove(organization, segment.key)
  await works.run((work) => {
    const segments = work.in(SegmentsCollection, organization)
    for (const segment of due) {
      if (!needed.has(segment.id)) segments.remove(segment.id, { optional: true })
      else segments.update(segment.id, { $set: { kept: true, ...(isReadable(segment) ? {} : { gone: true }) } }, { optional: true })
    }
  })
}

/** Deletes snapshots beyond the bound, and segments of deleted snapshots. */
export async function sweepKept(deps: ReplacedDeps, organization: string): Promise<void> {
  const { store, files, works } = deps
  const snapshots = store.open(SnapshotsCollection, organization)
  const surplus = (await snapshots.count({}, { limit: maxSnapshots + atOnce })) - maxSnapshots
  if (surplus > 0) {
    const oldest = await snapshots.find({}, { sort: { created_at: 1 }, limit: surplus })
    await works.run((work) => {
      for (const { id } of oldest) work.in(SnapshotsCollection, organization).remove(id, { optional: true })
    })
  }
  const places = await placesOf(deps, organization)
  for await (const segment of store.open(SegmentsCollection, organization).stream({ kept: true })) {
    if (places.some((place) => isOf(segment, place))) continue
    if (!segment.gone) await files.remove(organization, segment.key)
    await works.run((work) => work.in(SegmentsCollection, organization).remove(segment.id, { optional: true }))
  }
}

/** Marks replaced segments as unreadable for snapshots. The next sweep deletes their files. */
export async function breakReplaced(
  { store, works }: Pick<ReplacedDeps, "store" | "works">,
  organization: string,
  isBroken: (segment: Segment) => boolean | Promise<boolean>,
): Promise<void> {
  const broken: string[] = []
  for await (const segment of store.open(SegmentsCollection, organization).stream({ replaced_for: { $in: ["merge", "rebuild"] } }))
    if (isReadable(segment) && (await isBroken(segment))) broken.push(segment.id)
  if (broken.length === 0) return
  await works.run((work) => {
    const segments = work.in(SegmentsCollection, organization)
    for (const id of broken) segments.update(id, { $set: { replaced_for: "rows" }, $unset: { kept: true } }, { optional: true })
  })
}

async function placesOf({ store, clock }: Pick<ReplacedDeps, "store" | "clock">, organization: string): Promise<SnapshotPlace[]> {
  const now = timestamp(clock.now())
  const snapshots = await store.open(SnapshotsCollection, organization).find({ expires_at: { $gt: now } }, { limit: maxSnapshots + atOnce })
  const reports = await store.open(ReportsCollection, organization).find({}, { limit: 10_000 })
  return [...snapshots, ...reports.map(({ snapshot }) => snapshot)]
}
