// Corrects jobs postponed too far by a clock that was ahead. Each keeps its wait, counted from now.
import { maxSkewMs } from "../contract/cluster.ts"
import type { Store } from "../contract/store.ts"
import { StagedWork } from "../contract/unit-of-work.ts"
import { timestamp } from "../kernel/clock.ts"
import type { Ids } from "../kernel/ids.ts"
import { JobCollection, type JobDocument } from "./jobs-collection.ts"

export interface LateJobsArgs {
  readonly store: Store
  readonly ids: Ids
  readonly leaseMs: number
}

const perCommit = 500

/** Returns the number of corrected jobs. */
export async function bringForward({ store, ids, leaseMs }: LateJobsArgs, now: number): Promise<number> {
  const late = { state: "queued", run_at: { $gt: timestamp(now + maxSkewMs) } }
  let count = 0
  let work = new StagedWork(ids.uuid())
  for await (const job of store.open(JobCollection).stream(late, { sort: { id: 1 } })) {
    const $set = correctedTimes(job, now, leaseMs)
    if (!$set) continue
    work.in(JobCollection).update(job.id, { $set }, { where: { run_at: job.run_at, held_by: job.held_by }, optional: true })
    count++
    if (work.writes.length < perCommit) continue
    await work.commitTo(store)
    work = new StagedWork(ids.uuid())
  }
  if (work.writes.length > 0) await work.commitTo(store)
  return count
}

function correctedTimes(
  { run_at, created_at, put_off_at, held_by }: JobDocument,
  now: number,
  leaseMs: number,
): Partial<Pick<JobDocument, "run_at" | "created_at" | "put_off_at">> | undefined {
  // A node that holds the job renews the lease before its end.
  if (held_by !== "") return Date.parse(run_at) > now + leaseMs + maxSkewMs ? { run_at: timestamp(now + leaseMs) } : undefined
  const written = Date.parse(put_off_at ?? created_at)
  if (written <= now + maxSkewMs) return undefined
  const times = { run_at: timestamp(now + Math.max(0, Date.parse(run_at) - written)) }
  return put_off_at === undefined ? { ...times, created_at: timestamp(now) } : { ...times, put_off_at: timestamp(now) }
}
