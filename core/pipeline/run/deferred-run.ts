// One try of an execution's deferred steps: runs those whose needs are finished and whose next try is due, writes each
// outcome into the journal entry in the commit of what the step staged, and comes back when the next try is due.
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

/** Causes of a failed entry that running its deferred steps again can mend. */
export const deferredCauses: ReadonlySet<string> = new Set(["action_failed", "deferred_failed"])

/** A step that rests looks again by itself after this time, in case its turn was lost. */
export const maxRestMs = 30_000

/** Of tries that do not count because the destination does not answer. */
const maxPauseMs = 86_400_000

/** A decision makes the job due at once, unless the job runs just then; so it looks by itself, too. */
const lookAgainMs = 300_000

export interface DeferredRunArgs extends DeferredStepsArgs {
  readonly services: DeferredServices
  readonly store: Store
  /** The job's own: committed with its end, where that is a good one. */
  readonly work: UnitOfWork
  /** Whether the execution may leave memory until a slot is free. */
  readonly mayRest: () => boolean
}

export class DeferredRun {
  readonly #args: DeferredRunArgs
  readonly #steps: DeferredSteps
  readonly #execution: Execution
  /** Of steps that wait for a slot outside of memory. */
  readonly #rests: Rest[] = []

  constructor(args: DeferredRunArgs) {
    this.#args = args
    this.#steps = new DeferredSteps(args)
    this.#execution = this.#steps.execution
  }

  /** Throws Postponed while steps wait for their next try, and an error that is not retried when one failed permanently. */
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

  /** A destination that is silent for days must not keep an execution for ever. */
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
    // Stopped, not failed: this try does not count, unless another one must not follow.
    if (!outcome.ok && signal.aborted && outcome.error.details["retryable"] !== false) return
    // Nor does one that called nobody.
    const counts = outcome.ok || !outcome.error.notTried || this.#isPausedTooLong(outcome.error)
    const failure = recordOutcome(execution, step, outcome, counts ? attempts : earlier, started, services.clock)
    const over = outcome.ok || (counts && isLast(step, outcome.error, attempts))
    const kept = outcome.ok || outcome.finished ? work : new StagedWork(work.id)
    if (approval_id !== undefined) await this.#keepApproval(step, approval_id, outcome, over && wasApproved(gate) ? kept : undefined)
    if (outcome.ok) return this.#keep(step, kept)
    if (over) return this.#failed(step, kept, failure?.handler)
    await this.#later(step, kept, outcome, attempts)
  }

  /** Keeps when it is retried, with the elements that are finished. */
  async #later(step: Step, work: StagedWork, { error, finished }: StepOutcome & { ok: false }, attempts: number): Promise<void> {
    const { clock, backoff } = this.#args.services
    const next_at = timestamp(clock.now() + (untriedMs(error) ?? backoff(step.retry, attempts)))
    this.#execution.steps[step.id] = { ...this.#steps.record(step), state: "pending", result: finished ? [...finished] : null, next_at }
    await this.#keep(step, work)
  }

  /** For good: its handler runs, where it has one. */
  async #failed(step: Step, work: StagedWork, handler: Step | undefined): Promise<void> {
    // Kept as pending with the failure itself, so that a node that dies in between leaves it to be found.
    if (handler) this.#execution.pending(handler)
    await this.#keep(step, work, handler)
    if (handler) await this.#runStep(handler)
  }

  /** Where the step stands before its gate; where it waits, that is kept. */
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

  /** One try, in a slot of its action's type. Undefined if the step rests until a slot is free. */
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

  /** In the step's record, which its outcome has replaced; where `work` is given, with how it ended. */
  async #keepApproval(step: Step, approval_id: string, outcome: StepOutcome, work: StagedWork | undefined): Promise<void> {
    const record = this.#steps.record(step)
    this.#execution.steps[step.id] = { ...record, approval_id }
    const receipt: Receipt = outcome.ok ? { ok: true, result: record.result } : { ok: false, error: withReason(outcome.error) }
    if (work) await this.#args.services.keeper()?.complete(work, this.#args.payload.organization, approval_id, receipt)
  }

  /** The step's outcome and what it staged, in one commit: that of the job's end, where nothing else is left to be done. */
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

  /** Turns the entry to `failed` when a step failed permanently; throws so that the job is kept as dead. */
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

/** Whether no try follows this failure. */
function isLast({ retry }: Step, { details }: AppError, attempts: number): boolean {
  return attempts >= retry.max_attempts || details["retryable"] === false
}
