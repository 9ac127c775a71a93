// State of an event in a graph: its input, the results of its steps and its staged effects.
import { type Reply, rowsIn, type StepContext, type StepWarning, type WrittenRow } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import type { Envelope } from "../../contract/envelope.ts"
import { StagedWork } from "../../contract/unit-of-work.ts"
import type { AppError } from "../../kernel/errors.ts"
import { derivedUuid } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Graph, Step, TemplateScope } from "../graph.ts"
import type { StepRecord } from "../journal/entry.ts"
import type { StoredPipeline } from "../source.ts"
import { turnUnits } from "../template/meter.ts"
import type { Turn } from "../template/renderer.ts"

/** A pipeline with its compiled graph. */
export interface Runnable {
  readonly stored: StoredPipeline
  readonly graph: Graph
}

/** Input of an event's steps. */
export interface ExecutionInput extends Runnable {
  readonly executionId: string
  /** The first execution of a replayed event, otherwise `executionId`. */
  readonly originId: string
  /** Base of idempotency keys: the deduplication key if present, otherwise the origin's id. A sender's retry has the same base. */
  readonly identity: string
  /** RFC 3339. Receipt time of the origin. */
  readonly receivedAt: string
  readonly event: Json
  readonly payload: Json
  readonly query: Json
  readonly envelope: Envelope
  readonly stamp: Readonly<Record<string, Json>>
  readonly depth: number
  /** RFC 3339. Receipt time of the data, if the steps run later: in a replay, from the queue, or for another pipeline's event. */
  readonly dataSince?: string | undefined
}

export interface ExecutionOptions {
  /** Aborts when the service stops. */
  readonly signal: AbortSignal
  readonly log: Logger
  /** Results of earlier steps, for deferred work. */
  readonly results?: Record<string, unknown>
}

export interface Failure {
  readonly code: string
  readonly message: string
  readonly step: string
  /** The error from the step. */
  readonly error: AppError
}

const maxWarnings = 50

export class Execution implements Turn {
  readonly input: ExecutionInput
  readonly signal: AbortSignal
  readonly log: Logger
  readonly scope: TemplateScope
  readonly steps: Record<string, StepRecord> = {}
  readonly rows: WrittenRow[] = []
  /** Warnings of the steps for the journal entry. */
  readonly warnings: StepWarning[] = []
  /** Staged writes of the steps. A failed execution discards them. */
  readonly work: StagedWork
  /** Outcomes of awaited actions. They are committed even after a failure, because the external effects already happened. */
  readonly kept: StagedWork
  reply: Reply | undefined
  /** Number of steps after the reply. */
  pendingSteps = 0
  templateUnits = turnUnits

  constructor(input: ExecutionInput, { signal, log, results = {} }: ExecutionOptions) {
    this.input = input
    this.signal = signal
    this.log = log
    this.work = new StagedWork(input.executionId)
    this.kept = new StagedWork(input.executionId)
    const { stored } = input
    this.scope = {
      event: input.event,
      payload: input.payload,
      query: input.query,
      envelope: input.envelope,
      steps: results,
      pipeline: { id: stored.id, slug: stored.slug, name: stored.document.name },
      organization: stored.organization,
    }
  }

  context(step: Step, item: Json | undefined, itemIndex: number, attempt: number, signal: AbortSignal): StepContext {
    return new Context(this, step.id, item === undefined ? this.input.event : item, itemIndex, attempt, signal)
  }

  /** Stores a step's result for templates, and the rows in it. */
  finished(step: Step, attempts: number, durationMs: number, result: unknown): void {
    this.steps[step.id] = { type: step.action.type, state: "done", attempts, duration_ms: durationMs, result: result as Json, error: null }
    this.scope.steps[step.id] = result
    if (step.action.writesTo) for (const row of rowsIn(step.id, result)) this.rows.push(row)
  }

  /** Drops warnings over the limit, and repeated warnings of a retried step. */
  warn(warning: StepWarning): void {
    const isKnown = this.warnings.some(({ pointer, message }) => pointer === warning.pointer && message === warning.message)
    if (!isKnown && this.warnings.length < maxWarnings) this.warnings.push(warning)
  }

  failed(step: Step, attempts: number, durationMs: number, error: { code: string; message: string }): void {
    this.steps[step.id] = { type: step.action.type, state: "failed", attempts, duration_ms: durationMs, result: null, error }
  }

  /** `after` is the failed step before it. */
  skipped(step: Step, after?: string): void {
    const record: StepRecord = { type: step.action.type, state: "skipped", attempts: 0, duration_ms: 0, result: null, error: null }
    if (after !== undefined) record.skipped_after = after
    this.steps[step.id] = record
  }

  pending(step: Step): void {
    this.pendingSteps++
    this.steps[step.id] = { type: step.action.type, state: "pending", attempts: 0, duration_ms: 0, result: null, error: null }
  }
}

/** Stable across retries and replays. */
export function idempotencyKey(identity: string, stepId: string, itemIndex: number): string {
  return derivedUuid(identity, stepId, String(itemIndex))
}

/** Reads fields from the execution. Computes the idempotency key, a hash, on demand. */
class Context implements StepContext {
  readonly organization: StepContext["organization"]
  readonly pipeline: StepContext["pipeline"]
  readonly executionId: string
  readonly originId: string
  readonly receivedAt: string
  readonly dataSince: string | undefined
  readonly stepId: string
  readonly itemIndex: number
  readonly event: Json
  readonly envelope: Envelope
  readonly stamp: Readonly<Record<string, Json>>
  readonly attempt: number
  readonly depth: number
  readonly signal: AbortSignal
  readonly log: Logger
  readonly #identity: string

  constructor({ input, log }: Execution, stepId: string, event: Json, itemIndex: number, attempt: number, signal: AbortSignal) {
    const { stored } = input
    this.organization = stored.organization
    this.pipeline = { id: stored.id, slug: stored.slug, name: stored.document.name, endpoint_id: stored.endpoint_id }
    this.executionId = input.executionId
    this.originId = input.originId
    this.receivedAt = input.receivedAt
    this.dataSince = input.dataSince
    this.stepId = stepId
    this.itemIndex = itemIndex
    this.event = event
    this.envelope = input.envelope
    this.stamp = input.stamp
    this.attempt = attempt
    this.depth = input.depth
    this.signal = signal
    this.log = log
    this.#identity = input.identity
  }

  get idempotencyKey(): string {
    return idempotencyKey(this.#identity, this.stepId, this.itemIndex)
  }
}
