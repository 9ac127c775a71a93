// The service behind heartbeats: making, changing, pausing and resuming them, and the chain of beats that makes their runs.
// An active heartbeat has one beat, a job due at its next run; whichever node commits it makes the run and the next beat.
import {
  AppError,
  type Changes,
  type Clock,
  type Ids,
  isUuid,
  type JobQueue,
  maxSkewMs,
  type Scripts,
  type Store,
  stageRevision,
  timestamp,
  token,
  type UnitOfWork,
} from "#core"
import { beatRef, HeartbeatCollection, RunCollection, runRef, type StoredHeartbeat, type StoredRun } from "./collections.ts"
import { earlierRun, firstActive, nextRun, nextRunAfter } from "./next-run.ts"
import type { HeartbeatSettings } from "./settings.ts"

export interface HeartbeatsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly queue: JobQueue
  readonly scripts: Scripts
  readonly settings: HeartbeatSettings
}

export type HeartbeatFields = Pick<
  StoredHeartbeat,
  | "name"
  | "description"
  | "kind"
  | "interval_minutes"
  | "active_days"
  | "active_window_start"
  | "active_window_end"
  | "timezone"
  | "script_js"
  | "datasets"
  | "pipeline_slug"
  | "instructions"
  | "model"
  | "role"
  | "tools"
  | "max_steps"
  | "budget_millicents"
>

type Made = Pick<StoredHeartbeat, "made_by" | "authors">

const dayMs = 86_400_000
const maxPutOffMs = 3_600_000
const whenFields = ["interval_minutes", "active_days", "active_window_start", "active_window_end", "timezone"] as const

export const HeartbeatsToken = token<Heartbeats>("Heartbeats")

export class Heartbeats {
  readonly #deps: HeartbeatsDeps

  constructor(deps: HeartbeatsDeps) {
    this.#deps = deps
  }

  async find(organization: string, id: string): Promise<StoredHeartbeat | undefined> {
    return isUuid(id) ? this.#deps.store.open(HeartbeatCollection, organization).get(id) : undefined
  }

  /** As `find`; throws `not_found`. */
  async require(organization: string, id: string): Promise<StoredHeartbeat> {
    const found = await this.find(organization, id)
    if (found) return found
    throw new AppError("not_found", `The organization has no heartbeat "${id}"; GET /v1/heartbeats lists them.`, {
      reason: "heartbeat_not_found",
    })
  }

  /** Stages a heartbeat; its first run is an interval from now. Throws `resource_exhausted` where there are as many as may be. */
  async create(work: UnitOfWork, organization: string, fields: HeartbeatFields & Made, isPaused: boolean): Promise<StoredHeartbeat> {
    const { clock, ids, store, settings } = this.#deps
    const most = settings.max_per_organization
    if ((await store.open(HeartbeatCollection, organization).count({}, { limit: most })) >= most)
      throw new AppError("resource_exhausted", `The organization has ${most} heartbeats, as many as it may; delete some.`, {
        reason: "too_many_heartbeats",
      })
    const at = timestamp(clock.now())
    const none = { current_run_id: null, latest_run_id: null, latest_status: "", latest_reason: "", latest_run_at: null } as const
    const id = ids.uuid()
    const beat = isPaused ? { next_run_at: null, beat_id: null } : this.#beatAt(work, organization, id, nextRun(fields, clock.now()))
    const heartbeat: StoredHeartbeat = {
      ...{ ...fields, ...none, ...beat, id, state: isPaused ? "paused" : "active", paused_reason: "" },
      ...{ failures: 0, previous: null, revision: 1, created_at: at, updated_at: at },
    }
    work.in(HeartbeatCollection, organization).insert(heartbeat)
    return heartbeat
  }

  /** Stages a change made for the heartbeat as read; one made meanwhile has the commit `aborted`. New times count from now. */
  update(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat, change: Partial<HeartbeatFields> & Made): StoredHeartbeat {
    const isTimed = whenFields.some((field) => change[field] !== undefined) && heartbeat.state === "active"
    const changed = { ...heartbeat, ...change }
    const beat = isTimed ? this.#beatAt(work, organization, heartbeat.id, nextRun(changed, this.#deps.clock.now())) : {}
    if (change.script_js !== undefined) this.#forget(work, heartbeat.id)
    return this.#changed(work, organization, heartbeat, { ...change, ...beat })
  }

  /** Stages a pause. A run in progress finishes. `paused_reason` is empty if a caller pauses it. */
  pause(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat, paused_reason = ""): StoredHeartbeat {
    if (heartbeat.state === "paused") return heartbeat
    return this.#changed(work, organization, heartbeat, { state: "paused", paused_reason, next_run_at: null, beat_id: null })
  }

  /** Stages that it runs again, an interval from now, its failures forgotten. */
  resume(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat, made: Made): StoredHeartbeat {
    if (heartbeat.state === "active") return heartbeat
    const beat = this.#beatAt(work, organization, heartbeat.id, nextRun(heartbeat, this.#deps.clock.now()))
    return this.#changed(work, organization, heartbeat, { state: "active", paused_reason: "", failures: 0, ...made, ...beat })
  }

  /** Stages that it goes; records of its runs go when they expire. */
  remove(work: UnitOfWork, organization: string, { id, revision }: StoredHeartbeat): void {
    work.in(HeartbeatCollection, organization).remove(id, { where: { revision } })
    this.#forget(work, id)
  }

  /** Stages a run now, beside the schedule. Throws `failed_precondition` while another has not ended. */
  runNow(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat): StoredRun {
    const { current_run_id, name } = heartbeat
    if (current_run_id !== null)
      throw new AppError("failed_precondition", `The run ${current_run_id} of "${name}" has not ended; it runs one at a time.`, {
        reason: "heartbeat_running",
        run_id: current_run_id,
      })
    const run = this.#run(work, organization, heartbeat, "manual", this.#deps.clock.now())
    const update = { $set: begins(run) }
    work.in(HeartbeatCollection, organization).update(heartbeat.id, update, { where: { current_run_id: null } })
    return run
  }

  /** A beat that is due: stages its run and the next beat. Late and out of the window, it waits for the window. */
  async beat(work: UnitOfWork, organization: string, id: string, jobId: string): Promise<void> {
    const heartbeat = await this.find(organization, id)
    if (heartbeat?.state !== "active" || heartbeat.beat_id !== jobId) return
    const now = this.#deps.clock.now()
    const due = Date.parse(heartbeat.next_run_at ?? "") || now
    const active = firstActive(heartbeat, now)
    const runs = active <= now && heartbeat.current_run_id === null
    const next = active > now ? { at: active, wall: undefined } : nextRunAfter(heartbeat, { at: due, wall: wallOf(heartbeat) }, now)
    const run = runs ? begins(this.#run(work, organization, heartbeat, "schedule", due)) : {}
    const update = { $set: { ...run, ...this.#beatAt(work, organization, id, next) } }
    const where = { beat_id: jobId, current_run_id: heartbeat.current_run_id }
    work.in(HeartbeatCollection, organization).update(id, update, { where })
  }

  /** A beat not before `earliest` in place of the one that there is; what to store of it. */
  putOff(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat, earliest: number): Changes {
    const { beat_id, next_run_at } = heartbeat
    if (beat_id === null || next_run_at === null || Date.parse(next_run_at) >= earliest) return {}
    return this.#beatAt(work, organization, heartbeat.id, { at: firstActive(heartbeat, earliest), wall: undefined })
  }

  /** Stages an earlier run if a clock that was ahead has set the next one too late. Returns true if it did. */
  correct(work: UnitOfWork, organization: string, heartbeat: StoredHeartbeat, now: number): boolean {
    const { id, beat_id, next_run_at, state } = heartbeat
    const at = Date.parse(next_run_at ?? "")
    // Failures put a run off by no more than an hour.
    const latest = firstActive(heartbeat, nextRun(heartbeat, now + maxSkewMs).at + maxPutOffMs)
    if (state !== "active" || !(at > latest)) return false
    const beat = this.#beatAt(work, organization, id, earlierRun(heartbeat, { at, wall: wallOf(heartbeat) }, now))
    work.in(HeartbeatCollection, organization).update(id, { $set: beat }, { where: { beat_id }, optional: true })
    return true
  }

  #beatAt(
    work: UnitOfWork,
    organization: string,
    heartbeat_id: string,
    { at, wall = null }: { at: number; wall: number | null | undefined },
  ) {
    const { queue, ids } = this.#deps
    const beat_id = queue.enqueue(work, beatRef, { heartbeat_id }, { organization, id: ids.uuid(), runAt: at })
    return { next_run_at: timestamp(at), next_wall: wall, beat_id }
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
    return stageRevision(work.in(HeartbeatCollection, organization), heartbeat, change, this.#deps.clock.now())
  }

  #forget(work: UnitOfWork, id: string): void {
    work.afterCommit(() => this.#deps.scripts.forget(id))
  }
}

function wallOf({ next_wall }: StoredHeartbeat): number | undefined {
  return next_wall ?? undefined
}

function begins({ id, due_at }: StoredRun): Changes {
  return { current_run_id: id, latest_run_id: id, latest_status: "queued", latest_reason: "", latest_run_at: due_at }
}
