// Reads the records of deferred steps: ready steps, failed steps, and the end of the execution.
import type { Envelope } from "../../contract/envelope.ts"
import type { JobProgress } from "../../contract/job.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Step } from "../graph.ts"
import type { JournalEntry, StepRecord } from "../journal/entry.ts"
import type { DeferredPayload } from "./deferred-payload.ts"
import { Execution, type Runnable } from "./execution.ts"

export interface DeferredStepsArgs {
  readonly payload: DeferredPayload
  readonly pipeline: Runnable
  readonly entry: JournalEntry
  readonly signal: AbortSignal
  readonly log: Logger
}

export class DeferredSteps {
  readonly execution: Execution
  readonly #steps: readonly Step[]

  constructor(args: DeferredStepsArgs) {
    this.execution = executionOf(args)
    this.#steps = [...args.pipeline.graph.deferred, ...args.pipeline.graph.handlers.values()]
  }

  get pending(): Step[] {
    return this.#steps.filter((step) => this.#stateOf(step) === "pending")
  }

  /** A failed step that fails the execution. */
  get failed(): Step | undefined {
    return this.#steps.find((step) => this.#stateOf(step) === "failed" && step.onError === "fail")
  }

  /** True if every step has its outcome and no outcome fails the execution. A handler without a call has no record. */
  get areDone(): boolean {
    return this.#steps.every((step) => {
      const state = this.#stateOf(step)
      return state === undefined || state === "done" || state === "skipped" || (state === "failed" && step.onError !== "fail")
    })
  }

  record(step: Step): StepRecord {
    return (
      this.execution.steps[step.id] ?? { type: step.action.type, state: "pending", attempts: 0, duration_ms: 0, result: null, error: null }
    )
  }

  /** Returns true if the needs of the step have ended and its next try is due. */
  isReady(step: Step, now: number): boolean {
    const { steps } = this.execution
    const { next_at: next, approval_id, attempts } = this.record(step)
    const asks = approval_id !== undefined && attempts === 0
    if (next && !asks && Date.parse(next) > now) return false
    return step.needs.every((need) => steps[need]?.state !== "pending" && steps[need]?.state !== "running")
  }

  /** Returns the failed step that the step depends on, directly or through skipped steps. */
  failedNeed(step: Step): string | undefined {
    const { steps, input } = this.execution
    for (const id of step.needs) {
      const need = input.graph.byId.get(id)
      if (!need) continue
      const state = steps[id]?.state
      if (state === "failed" && need.onError === "fail" && need.deferred) return id
      const after = state === "skipped" ? this.failedNeed(need) : undefined
      if (after !== undefined) return after
    }
    return undefined
  }

  /** Returns the progress of the step with the most failed tries. */
  progress(state: StepRecord["state"]): JobProgress | undefined {
    let progress: JobProgress | undefined
    for (const step of this.#steps) {
      const record = this.execution.steps[step.id]
      if (record?.state !== state || !record.error || record.attempts <= (progress?.attempts ?? 0)) continue
      const last_error = `${step.id}: ${record.error.message}`.slice(0, 2_000)
      progress = { attempts: record.attempts, max_attempts: step.retry.max_attempts, last_error }
    }
    return progress
  }

  #stateOf({ id }: Step): StepRecord["state"] | undefined {
    return this.execution.steps[id]?.state
  }
}

function executionOf({ payload, pipeline, entry, signal, log }: DeferredStepsArgs): Execution {
  const input = {
    executionId: payload.execution_id,
    originId: payload.origin_id,
    identity: payload.identity,
    receivedAt: payload.received_at,
    stored: pipeline.stored,
    graph: pipeline.graph,
    event: payload.event,
    payload: payload.payload,
    query: payload.query,
    envelope: payload.envelope as unknown as Envelope,
    stamp: payload.stamp,
    depth: payload.depth,
    dataSince: payload.data_since ?? payload.received_at,
  }
  const execution = new Execution(input, { signal, log, results: { ...payload.results } })
  for (const [id, record] of Object.entries(entry.steps)) {
    execution.steps[id] = record
    if (record.state === "done" && !(id in execution.scope.steps)) execution.scope.steps[id] = record.result
  }
  return execution
}
