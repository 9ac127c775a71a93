// Runs of heartbeats, each executed once. A try executes a run after moving it from queued to running. A try on a running run
// means that the first node has stopped. A script then runs again and produces the same event. Instructions may have had effects,
// so the run ends as interrupted. Only the first end of a run is stored.
import {
  AppError,
  type Changes,
  type Clock,
  defineChannel,
  type Ids,
  type Live,
  type Logger,
  Postponed,
  type Store,
  timestamp,
  token,
  type UnitOfWork,
  type UnitsOfWork,
  type Update,
} from "#core"
import type { ApiKeys } from "../../../platform/organizations/index.ts"
import { RunCollection, type RunOutcome, type RunState, type StoredRun } from "../collections.ts"
import { HeartbeatResource, type StoredHeartbeat } from "../heartbeat.ts"
import type { Heartbeats } from "../heartbeats.ts"
import { standingOf } from "../makers.ts"
import { type InstructionsDeps, runInstructions } from "./instructions.ts"
import { runScript, type ScriptDeps } from "./script.ts"

export const heartbeatsChannel = defineChannel({
  name: "heartbeats",
  scope: "heartbeats:read",
  summary: "Runs of heartbeats as they end, and heartbeats that were paused since they kept failing.",
})

export interface RunsDeps extends ScriptDeps, InstructionsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly works: UnitsOfWork
  readonly live: Live
  readonly heartbeats: Heartbeats
  readonly keys: ApiKeys
}

export interface Try {
  readonly signal: AbortSignal
  readonly log: Logger
}

/** Consecutive failures until a heartbeat is paused. */
const maxFailures = 5
const maxBackoffMinutes = 60

/** Reason of a run if its maker lost access. */
const makerRevoked = "maker_revoked"

const interrupted: RunOutcome = {
  ok: false,
  reason: "interrupted",
  message: "The node that ran it went away; what it did until then is in its steps. It is not run again.",
}

export const RunsToken = token<Runs>("HeartbeatRuns")

export class Runs {
  readonly #deps: RunsDeps

  constructor(deps: RunsDeps) {
    this.#deps = deps
  }

  /** Executes a run and stores the outcome. Throws if the job should retry. */
  async carryOut(organization: string, id: string, attempt: Try): Promise<void> {
    const { store } = this.#deps
    const run = await store.open(RunCollection, organization).get(id)
    if (!run || (run.state !== "queued" && run.state !== "running")) return
    const heartbeat = await this.#deps.heartbeats.find(organization, run.heartbeat_id)
    if (!heartbeat) return await this.#deps.works.run((work) => this.#endRun(work, organization, run, "failed", missing))
    if (run.state === "running" && heartbeat.kind === "instructions") return await this.#end(organization, run, interrupted)
    const started = await this.#begin(organization, run, heartbeat)
    const outcome = await this.#outcome(organization, heartbeat, started, attempt)
    await this.#end(organization, started, outcome)
  }

  /** Ends a run after the last try of its job. Commits by itself. */
  async giveUp(organization: string, id: string): Promise<void> {
    const run = await this.#deps.store.open(RunCollection, organization).get(id)
    if (run?.state === "queued" || run?.state === "running") await this.#end(organization, run, interrupted)
  }

  /** Moves the run to running. The commit fails if another try has started or ended the run. */
  async #begin(organization: string, run: StoredRun, heartbeat: StoredHeartbeat): Promise<StoredRun> {
    const { works, clock, ids } = this.#deps
    const update = { state: "running", started_at: timestamp(clock.now()), begun_by: ids.uuid() } as const
    await works.run((work) => {
      const where = { state: run.state, begun_by: run.begun_by }
      work.in(RunCollection, organization).update(run.id, { $set: update }, { where })
      const which = { where: { current_run_id: run.id }, optional: true }
      work.in(HeartbeatResource.collection, organization).update(heartbeat.id, { $set: { latest_status: "running" } }, which)
    })
    return { ...run, ...update }
  }

  async #outcome(organization: string, heartbeat: StoredHeartbeat, run: StoredRun, { signal, log }: Try): Promise<RunOutcome> {
    try {
      const reach = await standingOf(this.#deps.keys, organization, heartbeat)
      if (reach.role === undefined) return { ok: false, reason: makerRevoked, message: reach.lost }
      if (heartbeat.kind === "script") return await runScript(this.#deps, organization, heartbeat, run)
      const record = (update: Update) => this.#record(organization, run, update)
      return await runInstructions(this.#deps, organization, { ...heartbeat, role: reach.role }, run, { signal, log, record })
    } catch (error) {
      // The node is stopping. The node with the next try of the job reports the error.
      if (signal.reason instanceof Postponed) throw error
      const cause: unknown = signal.aborted ? signal.reason : error
      // A repeated script sends the same event, so the job may retry.
      if (heartbeat.kind === "script" && cause instanceof AppError && cause.code === "unavailable") throw cause
      if (cause instanceof AppError) return { ok: false, reason: cause.details.reason ?? cause.code, message: cause.message }
      log.error({ err: cause, run: run.id }, "a heartbeat failed because of an internal error")
      return { ok: false, reason: "internal", message: "The run failed because of an internal error." }
    }
  }

  async #record(organization: string, { id, begun_by }: StoredRun, update: Update): Promise<void> {
    await this.#deps.works.run((work) => work.in(RunCollection, organization).update(id, update, { where: { state: "running", begun_by } }))
  }

  /** Stores the outcome of a run, unless another try did. */
  async #end(organization: string, run: StoredRun, outcome: RunOutcome): Promise<void> {
    const state: RunState = outcome.ok ? "succeeded" : outcome === interrupted ? "interrupted" : "failed"
    await this.#deps.works.retryConflicts(async (work) => {
      const stored = await this.#deps.store.open(RunCollection, organization).get(run.id)
      if (stored?.state !== run.state || stored.begun_by !== run.begun_by) return
      const heartbeat = await this.#deps.heartbeats.find(organization, run.heartbeat_id)
      this.#endRun(work, organization, run, state, outcome)
      if (heartbeat) this.#recordOutcome(work, organization, heartbeat, run, state, outcome)
    })
  }

  #endRun(work: UnitOfWork, organization: string, run: StoredRun, state: RunState, outcome: RunOutcome): void {
    const { logs, cost_millicents, execution_id } = outcome
    const $set: Changes = {
      state,
      finished_at: timestamp(this.#deps.clock.now()),
      ...(outcome.ok ? { result: outcome.result } : { reason: outcome.reason, message: outcome.message.slice(0, 2_000) }),
      ...(logs ? { logs: logs.map((line) => ({ ...line })) } : {}),
      ...(cost_millicents === undefined ? {} : { cost_millicents }),
      ...(execution_id === undefined ? {} : { execution_id }),
    }
    work.in(RunCollection, organization).update(run.id, { $set }, { where: { state: run.state, begun_by: run.begun_by } })
  }

  /** Updates the heartbeat after a run: backoff after a failure, a pause after five consecutive failures. */
  #recordOutcome(
    work: UnitOfWork,
    organization: string,
    heartbeat: StoredHeartbeat,
    run: StoredRun,
    state: RunState,
    outcome: RunOutcome,
  ): void {
    const { clock, live, heartbeats } = this.#deps
    const { id, name, beat_id } = heartbeat
    const failures = outcome.ok ? 0 : heartbeat.failures + 1
    const reason = outcome.ok ? "" : outcome.reason
    const isRevoked = reason === makerRevoked
    const pauses = (isRevoked || failures >= maxFailures) && heartbeat.state === "active"
    const why =
      outcome.ok || !isRevoked
        ? ""
        : `It stopped, because its maker lost access. ${outcome.message} Resume it with a key that may do what it does.`
    const paused_reason = outcome.ok ? "" : why || `${failures} runs in a row failed, the last one: ${outcome.message}`.slice(0, 500)
    const backoffMs = Math.min(2 ** failures, maxBackoffMinutes) * 60_000
    const $set: Changes = {
      ...{ latest_status: state, latest_reason: reason, latest_run_id: run.id, current_run_id: null, failures },
      ...(outcome.ok ? { previous: outcome.result } : {}),
      ...(pauses ? { state: "paused", paused_reason, next_run_at: null, beat_id: null } : {}),
      ...(failures > 0 && !pauses ? heartbeats.putOff(work, organization, heartbeat, clock.now() + backoffMs) : {}),
    }
    work
      .in(HeartbeatResource.collection, organization)
      .update(id, { $set }, { where: { current_run_id: run.id, beat_id }, optional: false })
    const data = { heartbeat_id: id, name, run_id: run.id, status: state, reason }
    live.stage(work, organization, { channel: heartbeatsChannel.name, event: "heartbeat_run_ended", data })
    if (!pauses) return
    const notice = { heartbeat_id: id, name, reason: paused_reason }
    live.stage(work, organization, { channel: heartbeatsChannel.name, event: "heartbeat_paused", data: notice })
  }
}

const missing: RunOutcome = { ok: false, reason: "heartbeat_not_found", message: "The heartbeat was deleted before it ran." }
