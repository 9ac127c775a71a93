// A try of an execution's deferred steps. It runs steps with finished needs and a due try. Each outcome goes into the journal
// entry, in the commit of the step's writes. The job is then postponed until the next try is due.
import type { Json } from "../../contract/collection.ts"
import { type Receipt, withReason } from "../../contract/gate.ts"
import { JobFailed, Postponed } from "../../contract/job.ts"
import { commitOutcome, roomForOutcome } from "../../contract/receipts.ts"
import type { Changes, Store } from "../../contract/store.ts"
import { StagedWork, type UnitOfWork } from "../../contract/unit-of-work.ts"
import { timestamp } from "../../kernel/clock.ts"
import { AppError, untriedMs } from "../../kernel/errors.ts"
import type { Step } from "../graph.ts"
import { EntryCollection } from "../journal/collections.ts"
import { type DeferredServices, deferredJobId } from "./deferred-payload.ts"
import { DeferredSteps, type DeferredStepsArgs } from "./deferred-steps.ts"
import type { Execution } from "./execution.ts"
import { asksAtGate, type GateState, gateState } from "./gated-step.ts"
import { behindHandled } from "./immediate.ts"
import { type AttemptOptions, aimOf, attemptStep, recordOutcome, type StepOutcome, withDeadline } from "./step.ts"
import type { Rest } from "./step-slots.ts"

/** Causes of a failed entry that a retry of its deferred steps can repair. */
export const deferredCauses: ReadonlySet<string> = new Set(["action_failed", "deferred_failed"])

/** Maximum milliseconds of a rest. The step then checks again, in case its turn was lost. */
export const maxRestMs = 30_000

/** Maximum milliseconds of uncounted tries to an unresponsive destination. */
const maxPauseMs = 86_400_000

/** Milliseconds until the step checks an approval itself. A decision usually makes the job due, except while the job runs. */
const lookAgainMs = 300_000

export interface DeferredRunArgs extends DeferredStepsArgs {
  readonly services: DeferredServices
  readonly store: Store
  /** The job's own work. It is committed with a successful end of the job. */
  readonly work: UnitOfWork
  /** Returns true if the execution may leave memory until a slot is free. */
  readonly mayRest: () => boolean
}

export class DeferredRun {
  readonly #args: DeferredRunArgs
  readonly #steps: DeferredSteps
  readonly #execution: Execution
  /** Rests of steps that wait for a slot outside of memory. */
  readonly #rests: Rest[] = []

  constructor(args: DeferredRunArgs) {
    this.#args = args
    this.#steps = new DeferredSteps(args)
    this.#execution = this.#steps.execution
  }

  /** Throws Postponed while steps wait for their next try. Throws a permanent error if a step failed permanently. */
  async run(): Promise<void> {
    const { steps } = this.#execution
    const waiting = new Set(this.#steps.pending)
    const running = new Map<string, Promise<void>>()
    let fault: { error: unknown } | undefined
    while (waiting.size > 0 || running.size > 0) {
      for (const step of fault ? [] : [...waiting]) {
        if (!this.#steps.isReady(step, this.#args.services.clock.now())) continue
        waiting.delete(step)
        const done = this.#runStep(step)
          .catch((error: unknown) => {
            fault ??= { error }
          })
          .finally(() => running.delete(step.id))
        running.set(step.id, done)
      }
      if (running.size === 0) break
      await Promise.race(running.values())
      if (this.#args.signal.aborted) fault ??= { error: this.#args.signal.reason }
    }
    if (fault) {
      for (const rest of this.#rests) rest.leave()
      throw fault.error
    }
    const due = Object.values(steps).flatMap(({ state, next_at }) => (state === "pending" && next_at ? [Date.parse(next_at)] : []))
    const waits = due.map((at) => Math.max(0, at - this.#args.services.clock.now()))
    if (this.#rests.length > 0) waits.push(maxRestMs)
    if (waits.length > 0) throw new Postponed(Math.min(...waits), this.#steps.progress("pending"), this.#rests)
    await this.#conclude()
  }

  /** Limits the life of an execution with an unresponsive destination. */
  #isPausedTooLong({ details }: AppError): boolean {
    const age = this.#args.services.clock.now() - Date.parse(this.#args.entry.received_at)
    return details.reason === "destination_paused" && age > maxPauseMs
  }

  async #runStep(step: Step): Promise<void> {
    const { services, signal } = this.#args
    const execution = this.#execution
    const earlier = execution.steps[step.id]?.attempts ?? 0
    const attempts = earlier + 1
    const work = new StagedWork(`${execution.input.executionId}:${step.id}:${attempts}:${services.clock.monotonic()}`)
    const after = behindHandled(execution, step) ?? this.#steps.failedNeed(step)
    if (after !== undefined) {
      execution.skipped(step, after)
      return this.#keep(step, work)
    }
    const gate: GateState = asksAtGate(this.#execution.input, step) ? await this.#gate(step, work) : { kind: "open" }
    if (gate.kind === "waits") return
    const approval_id = execution.steps[step.id]?.approval_id
    const tried = await this.#attempt(step, attempts, work, gate)
    if (tried === undefined) return
    const { outcome, started } = tried
    // The service stopped the try, so the try does not count. A result that forbids retries does count.
    if (!outcome.ok && signal.aborted && outcome.error.details["retryable"] !== false) return
    // A try without a call does not count either.
    const counts = outcome.ok || !outcome.error.notTried || this.#isPausedTooLong(outcome.error)
    const failure = recordOutcome(execution, step, outcome, counts ? attempts : earlier, started, services.clock)
    const over = outcome.ok || (counts && isLast(step, outcome.error, attempts))
    const kept = outcome.ok || outcome.finished ? work : new StagedWork(work.id)
    if (approval_id !== undefined) await this.#keepApproval(step, approval_id, outcome, over && wasApproved(gate) ? kept : undefined)
    if (outcome.ok) return this.#keep(step, kept)
    if (over) return this.#failed(step, kept, failure?.handler)
    await this.#later(step, kept, outcome, attempts)
  }

  /** Stores the time of the next try and the finished elements. */
  async #later(step: Step, work: StagedWork, { error, finished }: StepOutcome & { ok: false }, attempts: number): Promise<void> {
    const { clock, backoff } = this.#args.services
    const next_at = timestamp(clock.now() + (untriedMs(error) ?? backoff(step.retry, attempts)))
    this.#execution.steps[step.id] = { ...this.#steps.record(step), state: "pending", result: finished ? [...finished] : null, next_at }
    await this.#keep(step, work)
  }

  /** Handles a permanent failure: runs the step's handler, if any. */
  async #failed(step: Step, work: StagedWork, handler: Step | undefined): Promise<void> {
    // Stores the handler as pending together with the failure, so another node can continue after a crash.
    if (handler) this.#execution.pending(handler)
    await this.#keep(step, work, handler)
    if (handler) await this.#runStep(handler)
  }

  /** Returns the gate state of the step, and stores a wait. */
  async #gate(step: Step, work: StagedWork): Promise<GateState> {
    const { services, payload } = this.#args
    const record = this.#steps.record(step)
    const jobId = deferredJobId(payload.execution_id)
    const args = {
      execution: this.#execution,
      step,
      record,
      keeper: services.keeper(),
      renderer: services.renderer,
      depsOf: services.depsOf,
      work,
      jobId,
    }
    const state = await gateState(args).catch((error: unknown): GateState => {
      if (!(error instanceof AppError) || error.status >= 500) throw error
      return { kind: "refused", error: AppError.from({ ...error.toBody(), details: { ...error.details, retryable: false } }) }
    })
    if (state.kind !== "waits") return state
    const lookAt = Math.min(Date.parse(state.expiresAt), services.clock.now() + lookAgainMs)
    this.#execution.steps[step.id] = { ...record, approval_id: state.approvalId, next_at: timestamp(lookAt) }
    if (record.approval_id === undefined) await this.#keep(step, work)
    return state
  }

  /** Runs a try in a slot of its action type. Returns undefined if the step rests until a slot is free. */
  async #attempt(
    step: Step,
    attempts: number,
    work: StagedWork,
    gate: GateState,
  ): Promise<{ outcome: StepOutcome; started: number } | undefined> {
    const { services, signal, payload } = this.#args
    let started = services.clock.monotonic()
    if (gate.kind === "refused") return { outcome: { ok: false, error: gate.error }, started }
    const approved = gate.kind === "approved" ? gate.configs : undefined
    const { result } = this.#steps.record(step)
    const options: AttemptOptions = { given: approved, finished: Array.isArray(result) ? result : undefined }
    const { destination, rendered } = await aimOf(this.#execution, step, services, options)
    const caller = { organization: payload.organization, pipeline: payload.pipeline_id, destination, signal }
    const rest = this.#args.mayRest() ? services.slots.rest(step.action, caller) : undefined
    if (rest) {
      this.#rests.push(rest)
      return undefined
    }
    const outcome = await services.slots.run(step.action, caller, async () => {
      await roomForOutcome({ store: this.#args.store, clock: services.clock, signal })
      started = services.clock.monotonic()
      const attempt = (stop: AbortSignal) => attemptStep(this.#execution, step, attempts, services, work, stop, { ...options, rendered })
      return await withDeadline(step, signal, services.clock, attempt)
    })
    return { outcome, started }
  }

  /** Restores the approval id in the step's record, after the outcome replaced the record. With `work`, also stages the receipt. */
  async #keepApproval(step: Step, approval_id: string, outcome: StepOutcome, work: StagedWork | undefined): Promise<void> {
    const record = this.#steps.record(step)
    this.#execution.steps[step.id] = { ...record, approval_id }
    const receipt: Receipt = outcome.ok ? { ok: true, result: record.result } : { ok: false, error: withReason(outcome.error) }
    if (work) await this.#args.services.keeper()?.complete(work, this.#args.payload.organization, approval_id, receipt)
  }

  /** Commits the step's outcome with its staged writes. The last step uses the commit of the job's end. */
  async #keep(step: Step, work: StagedWork, handler?: Step): Promise<void> {
    const { payload, store, services, signal } = this.#args
    const { executionId } = this.#execution.input
    const entries = work.in(EntryCollection, payload.organization)
    const $set: Changes = Object.fromEntries(
      [step, ...(handler ? [handler] : [])].map((one) => [`steps.${one.id}`, this.#steps.record(one) as unknown as Json]),
    )
    const { warnings } = this.#execution
    if (warnings.length > 0) $set["warnings"] = [...this.#args.entry.warnings, ...warnings] as unknown as Json
    entries.update(executionId, { $set }, { optional: true })
    // A failed entry changes at the end.
    if (this.#args.entry.status !== "failed" && this.#steps.areDone) work.moveTo(this.#args.work)
    else await commitOutcome(work, { store, clock: services.clock, signal })
  }

  /** Sets the entry to `failed` if a step failed permanently, and throws to mark the job as dead. */
  async #conclude(): Promise<void> {
    const { payload, store, services, entry } = this.#args
    const { steps, input } = this.#execution
    const { executionId } = input
    const bad = this.#steps.failed
    const entries = store.open(EntryCollection, payload.organization)
    const mended = !bad && entry.status === "failed" && deferredCauses.has(entry.cause)
    if (bad || mended) {
      const error = bad ? { ...(steps[bad.id]?.error ?? { code: "unknown", message: "" }), step: bad.id } : null
      const work = new StagedWork(`${executionId}:concluded:${services.clock.monotonic()}`)
      const $set: Changes = { status: bad ? "failed" : "accepted", cause: bad ? "action_failed" : "", error }
      work.in(EntryCollection, payload.organization).update(executionId, { $set }, { optional: true })
      await store.commit(work.commit)
    }
    const changed = bad || mended ? await entries.get(executionId) : undefined
    if (changed) services.entryChanged(changed)
    if (!bad) return
    const message = `The step "${bad.id}" failed: ${steps[bad.id]?.error?.message ?? ""}`
    throw new JobFailed(message, this.#steps.progress("failed"))
  }
}

/** Returns true for an approved step, also if its target changed since. The approval then ends with the step. */
function wasApproved(gate: GateState): boolean {
  return gate.kind === "approved" || (gate.kind === "refused" && gate.error.details.reason === "target_changed")
}

/** Returns true if no try follows this failure. */
function isLast({ retry }: Step, { details }: AppError, attempts: number): boolean {
  return attempts >= retry.max_attempts || details["retryable"] === false
}
