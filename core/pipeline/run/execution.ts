// One event on its way through a graph: what it is, what its steps have said so far, and what it will leave behind.
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

/** What the steps of an event are run on. */
export interface ExecutionInput extends Runnable {
  readonly executionId: string
  /** The first execution of the event, when this is a replay; else `executionId`. */
  readonly originId: string
  /** What idempotency keys are derived from: the origin's id, or the deduplication key where there is one, so that a sender's retry gets the same. */
  readonly identity: string
  /** RFC 3339, of the origin. */
  readonly receivedAt: string
  readonly event: Json
  readonly payload: Json
  readonly query: Json
  readonly envelope: Envelope
  readonly stamp: Readonly<Record<string, Json>>
  readonly depth: number
  /** RFC 3339. When the data was received, if the steps run later: in a replay, from the queue, or for another pipeline's event. */
  readonly dataSince?: string | undefined
}

export interface ExecutionOptions {
  /** Aborted when the service stops. */
  readonly signal: AbortSignal
  readonly log: Logger
  /** Results of steps that ran before, for deferred work. */
  readonly results?: Record<string, unknown>
}

export interface Failure {
  readonly code: string
  readonly message: string
  readonly step: string
  /** As the step threw it. */
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
  /** What the steps stage; dropped whole when the execution fails. */
  readonly work: StagedWork
  /** Outcomes of awaited actions; kept even then, since the world has seen them. */
  readonly kept: StagedWork
  reply: Reply | undefined
  /** Steps left for after the reply. */
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

  /** Keeps a step's result where templates find it, and the rows it names. */
  finished(step: Step, attempts: number, durationMs: number, result: unknown): void {
    this.steps[step.id] = { type: step.action.type, state: "done", attempts, duration_ms: durationMs, result: result as Json, error: null }
    this.scope.steps[step.id] = result
    if (step.action.writesTo) for (const row of rowsIn(step.id, result)) this.rows.push(row)
  }

  /** Warnings beyond the limit are dropped, and so are repeats of a retried step. */
  warn(warning: StepWarning): void {
    const isKnown = this.warnings.some(({ pointer, message }) => pointer === warning.pointer && message === warning.message)
    if (!isKnown && this.warnings.length < maxWarnings) this.warnings.push(warning)
  }

  failed(step: Step, attempts: number, durationMs: number, error: { code: string; message: string }): void {
    this.steps[step.id] = { type: step.action.type, state: "failed", attempts, duration_ms: durationMs, result: null, error }
  }

  /** `after` is the failed step that it would have come after. */
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

/** Stable over retries and replays. */
export function idempotencyKey(identity: string, stepId: string, itemIndex: number): string {
  return derivedUuid(identity, stepId, String(itemIndex))
}

/** Fields are read off the execution; the idempotency key, a hash, only when someone asks for it. */
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
