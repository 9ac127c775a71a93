// The part of a graph after the reply: one durable job an execution. It carries what the steps read, runs those whose
// needs are finished, writes each outcome into the journal entry, and comes back when a failed step's next try is due.
import { z } from "zod"
import type { Json } from "../../contract/collection.ts"
import type { Envelope } from "../../contract/envelope.ts"
import { defineJob, type JobArgs, Postponed } from "../../contract/job.ts"
import { Store } from "../../contract/store.ts"
import { StagedWork } from "../../contract/work.ts"
import { timestamp } from "../../kernel/clock.ts"
import { token } from "../../kernel/di.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Step } from "../graph.ts"
import type { LivePipeline } from "../inbound/live-pipelines.ts"
import { EntryCollection, type JournalEntry, type StepRecord } from "../journal/entry.ts"
import { Execution } from "./execution.ts"
import { behindHandled } from "./immediate.ts"
import { attemptStep, type StepServices, withDeadline } from "./step.ts"

const DeferredPayload = z.object({
  organization: z.string(),
  pipeline_id: z.string(),
  revision: z.number(),
  execution_id: z.string(),
  origin_id: z.string(),
  identity: z.string(),
  received_at: z.string(),
  event: z.json(),
  payload: z.json(),
  query: z.json(),
  envelope: z.record(z.string(), z.json()),
  stamp: z.record(z.string(), z.json()),
  depth: z.number(),
  results: z.record(z.string(), z.json()),
})
export type DeferredPayload = z.infer<typeof DeferredPayload>

/** What the job needs of the engine. */
export interface DeferredServices extends StepServices {
  /** The pipeline as it was at that revision; null when it is gone or no longer compiles. */
  pipelineAt(organization: string, pipelineId: string, revision: number): Promise<LivePipeline | null>
  /** Announces that an entry changed. */
  entryChanged(entry: JournalEntry): void
}

export const DeferredServices = token<DeferredServices>("DeferredServices")

export const deferredJob = defineJob({
  type: "pipeline.deferred",
  summary: "Steps of a pipeline that run after the reply.",
  payload: DeferredPayload,
  retry: { max_attempts: 20, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 600_000 },
  timeoutMs: 900_000,
  inject: { services: DeferredServices, store: Store },
  run: ({ payload, deps, signal, log }) => new DeferredRun(payload, deps.services, deps.store, signal, log).run(),
  // Its own retries are for faults of this service; what they cannot mend is written into the entry.
  async exhausted({ payload, deps, work }, error) {
    const message = error instanceof Error ? error.message : String(error)
    const entry = await deps.store.open(EntryCollection, payload.organization).get(payload.execution_id)
    if (!entry || entry.status === "failed") return
    work
      .in(EntryCollection, payload.organization)
      .update(
        payload.execution_id,
        { $set: { status: "failed", cause: "deferred_failed", error: { code: "internal", message } } },
        { optional: true },
      )
  },
})

class DeferredRun {
  readonly #payload: DeferredPayload
  readonly #services: DeferredServices
  readonly #store: Store
  readonly #signal: AbortSignal
  readonly #log: JobArgs<DeferredPayload, never>["log"]

  constructor(
    payload: DeferredPayload,
    services: DeferredServices,
    store: Store,
    signal: AbortSignal,
    log: JobArgs<DeferredPayload, never>["log"],
  ) {
    this.#payload = payload
    this.#services = services
    this.#store = store
    this.#signal = signal
    this.#log = log
  }

  async run(): Promise<void> {
    const { organization, pipeline_id, revision, execution_id } = this.#payload
    const live = await this.#services.pipelineAt(organization, pipeline_id, revision)
    if (!live)
      throw new AppError("failed_precondition", "The pipeline is gone, or no longer compiles with the plugins that are loaded.", {
        retryable: false,
      })
    const entry = await this.#store.open(EntryCollection, organization).get(execution_id)
    if (!entry) throw new AppError("not_found", `The journal entry ${execution_id} is gone.`, { retryable: false })
    const execution = this.#execution(live, entry)
    const waiting = new Set(
      [...live.graph.deferred, ...live.graph.handlers.values()].filter((step) => execution.steps[step.id]?.state === "pending"),
    )
    const running = new Map<string, Promise<void>>()
    while (waiting.size > 0 || running.size > 0) {
      for (const step of [...waiting]) {
        if (!this.#ready(step, execution)) continue
        waiting.delete(step)
        running.set(
          step.id,
          this.#runStep(execution, step).finally(() => running.delete(step.id)),
        )
      }
      if (running.size === 0) break
      await Promise.race(running.values())
      this.#signal.throwIfAborted()
    }
    const due = Object.values(execution.steps).flatMap((record) =>
      record.state === "pending" && record.next_at ? [Date.parse(record.next_at)] : [],
    )
    if (due.length > 0) throw new Postponed(Math.max(0, Math.min(...due) - this.#services.clock.now()))
    await this.#conclude(execution)
  }

  #execution(live: LivePipeline, entry: JournalEntry): Execution {
    const payload = this.#payload
    const execution = new Execution({
      id: payload.execution_id,
      originId: payload.origin_id,
      identity: payload.identity,
      receivedAt: payload.received_at,
      stored: live.stored,
      graph: live.graph,
      event: payload.event,
      payload: payload.payload,
      query: payload.query,
      envelope: payload.envelope as unknown as Envelope,
      stamp: payload.stamp,
      depth: payload.depth,
      signal: this.#signal,
      log: this.#log,
      results: { ...payload.results },
    })
    for (const [id, record] of Object.entries(entry.steps)) {
      // A job that runs though one of its steps failed for good was asked for by hand: that step gets its tries again.
      const again = record.state === "failed" && live.graph.deferred.some((step) => step.id === id && step.onError === "fail")
      execution.steps[id] = again ? { ...record, state: "pending", attempts: 0 } : record
      if (record.state === "done" && !(id in execution.scope.steps)) execution.scope.steps[id] = record.result
    }
    return execution
  }

  /** Whether its needs are finished and its next try is due. */
  #ready(step: Step, execution: Execution): boolean {
    const record = execution.steps[step.id]
    if (record?.next_at && Date.parse(record.next_at) > this.#services.clock.now()) return false
    return step.needs.every((need) => {
      const state = execution.steps[need]?.state
      return state !== "pending" && state !== "running"
    })
  }

  async #runStep(execution: Execution, step: Step): Promise<void> {
    if (behindHandled(execution, step) || this.#behindFailed(execution, step)) {
      execution.skipped(step)
      return this.#keep(execution, step, new StagedWork(`${execution.args.id}:${step.id}:skipped`))
    }
    const attempts = (execution.steps[step.id]?.attempts ?? 0) + 1
    const started = this.#services.clock.monotonic()
    const work = new StagedWork(`${execution.args.id}:${step.id}:${attempts}:${started}`)
    const outcome = await withDeadline(step, this.#signal, this.#services.clock, (signal) =>
      attemptStep(execution, step, attempts, this.#services, work, signal),
    )
    const duration = Math.round((this.#services.clock.monotonic() - started) * 1_000) / 1_000
    if (outcome.ok) {
      if ("skipped" in outcome) execution.skipped(step)
      else execution.finished(step, attempts, duration, outcome.result)
      return this.#keep(execution, step, work)
    }
    if (this.#signal.aborted) return
    const { code, message, details } = outcome.error
    execution.failed(step, attempts, duration, { code, message })
    if (attempts < step.retry.max_attempts && details["retryable"] !== false) {
      const next_at = timestamp(this.#services.clock.now() + this.#services.backoff(step.retry, attempts))
      execution.steps[step.id] = { ...this.#record(execution, step), state: "pending", next_at }
    } else if (typeof step.onError === "object") {
      const handler = execution.args.graph.handlers.get(step.onError.handler)
      if (handler) await this.#runStep(execution, handler)
    }
    await this.#keep(execution, step, new StagedWork(work.id))
  }

  /** A step that failed for good takes its dependents along. */
  #behindFailed(execution: Execution, step: Step): boolean {
    return step.needs.some((need) => execution.steps[need]?.state === "failed" && execution.args.graph.byId.get(need)?.onError === "fail")
  }

  #record(execution: Execution, step: Step): StepRecord {
    return execution.steps[step.id] ?? { type: step.action.type, state: "pending", attempts: 0, duration_ms: 0, result: null, error: null }
  }

  /** The step's outcome and what it staged, in one commit. */
  async #keep(execution: Execution, step: Step, work: StagedWork): Promise<void> {
    const rows = execution.rows.filter((row) => row.step === step.id)
    const update = { $set: { [`steps.${step.id}`]: this.#record(execution, step) as unknown as Json } }
    work.in(EntryCollection, this.#payload.organization).update(execution.args.id, update, { optional: true })
    for (const row of rows)
      work
        .in(EntryCollection, this.#payload.organization)
        .update(execution.args.id, { $addToSet: { rows: { ...row } } }, { optional: true })
    await work.committed(await this.#store.commit(work.commit))
  }

  /** Turns the entry to `failed` when a step failed for good; throws so that the job is kept as dead. */
  async #conclude(execution: Execution): Promise<void> {
    const bad = execution.args.graph.deferred.find((step) => execution.steps[step.id]?.state === "failed" && step.onError === "fail")
    const entries = this.#store.open(EntryCollection, this.#payload.organization)
    const before = await entries.get(execution.args.id)
    const mended = !bad && before?.status === "failed" && before.cause === "action_failed"
    if (bad || mended) {
      const error = bad ? { ...(execution.steps[bad.id]?.error ?? { code: "unknown", message: "" }), step: bad.id } : null
      const work = new StagedWork(`${execution.args.id}:concluded:${this.#services.clock.monotonic()}`)
      const $set: Record<string, Json> = { status: bad ? "failed" : "accepted", cause: bad ? "action_failed" : "", error }
      work.in(EntryCollection, this.#payload.organization).update(execution.args.id, { $set }, { optional: true })
      await this.#store.commit(work.commit)
    }
    const entry = bad || mended ? await entries.get(execution.args.id) : before
    if (entry) this.#services.entryChanged(entry)
    if (bad)
      throw new AppError("failed_precondition", `The step "${bad.id}" failed: ${execution.steps[bad.id]?.error?.message ?? ""}`, {
        retryable: false,
      })
  }
}

export function deferredPayload(execution: Execution, revision: number): DeferredPayload {
  const { args, scope } = execution
  return {
    organization: args.stored.organization.id,
    pipeline_id: args.stored.id,
    revision,
    execution_id: args.id,
    origin_id: args.originId,
    identity: args.identity,
    received_at: args.receivedAt,
    event: args.event,
    payload: args.graph.reads.payload ? args.payload : null,
    query: args.graph.reads.query ? args.query : null,
    envelope: args.envelope as unknown as Record<string, Json>,
    stamp: { ...args.stamp },
    depth: args.depth,
    results: scope.steps as Record<string, Json>,
  }
}
