// Pauses and resumes heartbeats, and starts their runs by a chain of beats. An active heartbeat has one beat, a job due at its
// next run. The node that commits the beat starts the run and stages the next beat.
import {
  AppError,
  type Changes,
  Clock,
  type ClockCorrection,
  type Deps,
  Ids,
  JobQueue,
  maxSkewMs,
  Store,
  stageRevision,
  timestamp,
  type UnitOfWork,
  type UnitsOfWork,
} from "#core"
import type { DepartureHook, Organizations } from "../../platform/organizations/index.ts"
import { RunCollection, runRef, type StoredRun } from "./collections.ts"
import { HeartbeatResource, type HeartbeatSettings, type StoredHeartbeat } from "./heartbeat.ts"
import type { Maker } from "./makers.ts"
import { beatAt, earlierRun, firstActive, nextRun, nextRunAfter } from "./next-run.ts"

export interface HeartbeatsDeps extends Deps<typeof Heartbeats.inject> {
  readonly settings: HeartbeatSettings
}

const dayMs = 86_400_000
const maxPutOffMs = 3_600_000

export class Heartbeats {
  static readonly inject = { store: Store, clock: Clock, ids: Ids, queue: JobQueue }
  readonly #deps: HeartbeatsDeps

  constructor(deps: HeartbeatsDeps) {
    this.#deps = deps
  }

  async find(organization: string, id: string): Promise<StoredHeartbeat | undefined> {
    return HeartbeatResource.items.find(this.#deps.store, organization, id)
  }

  /** As `find`, but throws `not_found`. */
  async require(organization: string, id: string): Promise<StoredHeartbeat> {
    return HeartbeatResource.items.require(this.#deps.store, organization, id)
  }

  /** Stages a pause. A run in progress finishes. `paused_reason` is empty if a caller pauses it. */
  pause(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat, paused_reason = ""): StoredHeartbeat {
    if (heartbeat.state === "paused") return heartbeat
    return this.#changed(work, organization, heartbeat, { state: "paused", paused_reason, next_run_at: null, beat_id: null })
  }

  /** Stages the next run of a paused heartbeat, an interval from now. Clears its failures. */
  resume(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat, maker: Maker): StoredHeartbeat {
    if (heartbeat.state === "active") return heartbeat
    const beat = beatAt(work, organization, this.#deps, heartbeat.id, nextRun(heartbeat, this.#deps.clock.now()))
    return this.#changed(work, organization, heartbeat, { state: "active", paused_reason: "", failures: 0, ...maker, ...beat })
  }

  /** Stages a run now, in addition to the schedule. Throws `failed_precondition` during another run. */
  runNow(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat): StoredRun {
    const { current_run_id, name } = heartbeat
    if (current_run_id !== null)
      throw new AppError("failed_precondition", `The run ${current_run_id} of "${name}" has not ended; it runs one at a time.`, {
        reason: "heartbeat_running",
        run_id: current_run_id,
      })
    const run = this.#run(work, organization, heartbeat, "manual", this.#deps.clock.now())
    const update = { $set: begins(run) }
    work.in(HeartbeatResource.collection, organization).update(heartbeat.id, update, { where: { current_run_id: null } })
    return run
  }

  /** Handles a due beat: stages its run and the next beat. Outside the window the beat moves to the window's start. */
  async beat(work: UnitOfWork, organization: string, id: string, jobId: string): Promise<void> {
    const heartbeat = await this.find(organization, id)
    if (heartbeat?.state !== "active" || heartbeat.beat_id !== jobId) return
    const now = this.#deps.clock.now()
    const due = Date.parse(heartbeat.next_run_at ?? "") || now
    const active = firstActive(heartbeat, now)
    const runs = active <= now && heartbeat.current_run_id === null
    const next = active > now ? { at: active, wall: undefined } : nextRunAfter(heartbeat, { at: due, wall: wallOf(heartbeat) }, now)
    const run = runs ? begins(this.#run(work, organization, heartbeat, "schedule", due)) : {}
    const update = { $set: { ...run, ...beatAt(work, organization, this.#deps, id, next) } }
    const where = { beat_id: jobId, current_run_id: heartbeat.current_run_id }
    work.in(HeartbeatResource.collection, organization).update(id, update, { where })
  }

  /** Moves the beat to `earliest` or later. Returns the fields to store. */
  putOff(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat, earliest: number): Changes {
    const { beat_id, next_run_at } = heartbeat
    if (beat_id === null || next_run_at === null || Date.parse(next_run_at) >= earliest) return {}
    return beatAt(work, organization, this.#deps, heartbeat.id, { at: firstActive(heartbeat, earliest), wall: undefined })
  }

  /** Stages an earlier run if a fast clock set the next run too late. Returns true if changed. */
  correct(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat, now: number): boolean {
    const { id, beat_id, next_run_at, state } = heartbeat
    const at = Date.parse(next_run_at ?? "")
    // Failures delay a run by at most an hour.
    const latest = firstActive(heartbeat, nextRun(heartbeat, now + maxSkewMs).at + maxPutOffMs)
    if (state !== "active" || !(at > latest)) return false
    const beat = beatAt(work, organization, this.#deps, id, earlierRun(heartbeat, { at, wall: wallOf(heartbeat) }, now))
    work.in(HeartbeatResource.collection, organization).update(id, { $set: beat }, { where: { beat_id }, optional: true })
    return true
  }

  #run(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat, cause: StoredRun["cause"], due: number): StoredRun {
    const { clock, ids, queue, settings } = this.#deps
    const run: StoredRun = {
      id: ids.uuid(),
      heartbeat_id: heartbeat.id,
      cause,
      state: "queued",
      due_at: timestamp(due),
      ...{ started_at: null, finished_at: null, begun_by: null, reason: "", message: "" },
      ...{ result: null, execution_id: null, steps: [], cost_millicents: 0 },
      expires_at: timestamp(clock.now() + settings.runs_days * dayMs),
    }
    work.in(RunCollection, organization).insert(run)
    queue.enqueue(work, runRef, { run_id: run.id }, { organization, key: heartbeat.id, timeoutMs: settings.run_timeout_ms })
    return run
  }

  #changed(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat, change: Partial<StoredHeartbeat>): StoredHeartbeat {
    return stageRevision(work.in(HeartbeatResource.collection, organization), heartbeat, change, this.#deps.clock.now())
  }
}

function wallOf({ next_wall }: StoredHeartbeat): number | undefined {
  return next_wall ?? undefined
}

function begins({ id, due_at }: StoredRun): Changes {
  return { current_run_id: id, latest_run_id: id, latest_status: "queued", latest_reason: "", latest_run_at: due_at }
}

// Corrects heartbeats after the clock was ahead: each returns to its own grid.

interface CorrectionsDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly organizations: Organizations
  readonly heartbeats: Heartbeats
}

/** Returns the number of corrected heartbeats. */
export async function correctHeartbeats(deps: CorrectionsDeps, { now }: ClockCorrection): Promise<number> {
  const { store, works, organizations, heartbeats } = deps
  let count = 0
  for await (const { id: organization } of organizations.all()) {
    for await (const { id } of store.open(HeartbeatResource.collection, organization).stream({ state: "active" })) {
      const isCorrected = await works.retryConflicts(async (work) => {
        const heartbeat = await heartbeats.find(organization, id)
        return heartbeat !== undefined && heartbeats.correct(work, organization, heartbeat, now)
      })
      if (isCorrected) count++
    }
  }
  return count
}

const reason = "Its maker left the organization. Another member resumes it, and answers for it from then on."

/** Pauses the heartbeats of a person who leaves the organization, because the person's rights end. Another member resumes them. */
export function pauseHeartbeatsOf({ store, heartbeats }: { readonly store: Store; readonly heartbeats: Heartbeats }): DepartureHook {
  return async (work, { organization, user }) => {
    const active = await store.open(HeartbeatResource.collection, organization).find({ state: "active", "made_by.user_id": user })
    for (const heartbeat of active) heartbeats.pause(work, organization, heartbeat, reason)
    return active.map(({ id, name }) => ({ kind: "heartbeat", id, name, operation: "heartbeats.resume" }))
  }
}
