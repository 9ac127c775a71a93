// Snapshots make an answer repeatable. A snapshot is the segments of a copy at one revision. Its id is a digest of the segments
// and their time.
import { createHash } from "node:crypto"
import { AppError, type Clock, type Store, timestamp, type UnitsOfWork } from "#core"
import { ReportsCollection, type Segment, SegmentsCollection, type SnapshotPlace, SnapshotsCollection } from "./collections.ts"
import { isOf, isReadable } from "./sealing/replaced.ts"

export interface SnapshotDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly keepDays: number
}

export interface SnapshotWithId extends SnapshotPlace {
  readonly id: string
  readonly segments: readonly Segment[]
}

const goneBecause = {
  expired: "it is not known here: it expired, or never was one of this organization",
  rows_changed: "events that it holds were changed or deleted since",
  retention: "its events are older than what the copy keeps",
  lost: "files of it were lost",
} as const
export type GoneBecause = keyof typeof goneBecause

/** Organizations with a cached last snapshot, to avoid writing it again. */
const maxRemembered = 1_000

export class Snapshots {
  readonly #deps: SnapshotDeps
  readonly #last = new Map<string, string>()

  constructor(deps: SnapshotDeps) {
    this.#deps = deps
  }

  idOf({ copy_id, revision, as_of }: SnapshotPlace, segments: readonly Segment[]): string {
    const ids = segments.map(({ id }) => id).sort()
    return createHash("sha256")
      .update(JSON.stringify([copy_id, revision, as_of, ids]))
      .digest("hex")
      .slice(0, 32)
  }

  /** Stores the snapshot for some days and returns its id. */
  async hold(organization: string, place: SnapshotPlace, segments: readonly Segment[]): Promise<string> {
    const { works, clock, keepDays } = this.#deps
    const id = this.idOf(place, segments)
    if (this.#last.get(organization) === id) return id
    const now = clock.now()
    const doc = { id, ...place, created_at: timestamp(now), expires_at: timestamp(now + keepDays * 86_400_000) }
    await works.run((work) => work.in(SnapshotsCollection, organization).insert(doc, { ifPresent: "keep" }))
    if (this.#last.size >= maxRemembered) this.#last.clear()
    this.#last.set(organization, id)
    return id
  }

  /** Throws `failed_precondition` if the snapshot's rows are no longer available. */
  async find(organization: string, id: string): Promise<SnapshotWithId> {
    const { store, clock } = this.#deps
    const stored = await store.open(SnapshotsCollection, organization).get(id)
    const live = stored && stored.expires_at > timestamp(clock.now()) ? stored : undefined
    const place = live ?? (await store.open(ReportsCollection, organization).first({ "snapshot.id": id }))?.snapshot
    if (!place) throw snapshotGone(id, "expired")
    const { copy_id, revision, as_of } = place
    const segments: Segment[] = []
    if (copy_id !== "")
      for await (const segment of store.open(SegmentsCollection, organization).stream({ copy_id }))
        if (isOf(segment, place)) segments.push(segment)
    for (const segment of segments) {
      if (segment.replaced_at === null || isReadable(segment)) continue
      throw snapshotGone(id, segment.replaced_for === "retention" ? "retention" : "rows_changed")
    }
    if (this.idOf({ copy_id, revision, as_of }, segments) !== id) throw snapshotGone(id, "lost")
    return { id, copy_id, revision, as_of, segments }
  }
}

export function snapshotGone(id: string, why: GoneBecause): AppError {
  const message = `The answer of snapshot ${id} cannot be made again: ${goneBecause[why]}. Ask without it for what is there now.`
  return new AppError("failed_precondition", message, { reason: "snapshot_gone", why })
}
