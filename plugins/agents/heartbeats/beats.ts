// The beat of a heartbeat: the job that makes its next run.
import { type Ids, type JobQueue, timestamp, type UnitOfWork } from "#core"
import { beatRef } from "./collections.ts"
import type { NextRun } from "./next-run.ts"

/** Stages a beat, and returns the fields of its heartbeat. Any earlier beat is stale. */
export function beatAt(
  work: UnitOfWork,
  organization: string,
  { queue, ids }: { readonly queue: JobQueue; readonly ids: Ids },
  heartbeat_id: string,
  { at, wall }: NextRun,
) {
  const beat_id = queue.enqueue(work, beatRef, { heartbeat_id }, { organization, id: ids.uuid(), runAt: at })
  return { next_run_at: timestamp(at), next_wall: wall ?? null, beat_id }
}
