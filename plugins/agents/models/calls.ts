// A model call. Returns a stored answer to the same question, or makes a new call in turn and within the budget. The answer is
// stored together with its cost.
import { createHash } from "node:crypto"
import { AppError, type Clock, derivedUuid, type Ids, type Json, type Store, timestamp, type UnitsOfWork } from "#core"
import type { FairLimiter } from "#core/engine"
import type { Budget, Usage } from "./budget.ts"
import { AnswerCollection } from "./collections.ts"
import { failureOf } from "./failures.ts"
import type { Account } from "./holds.ts"
import type { ModelMeters } from "./meters.ts"
import type { ModelSettings } from "./settings.ts"

export interface CallDeps {
  readonly settings: ModelSettings
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly works: UnitsOfWork
  readonly budget: Budget
  readonly meters: ModelMeters
  readonly limiter: FairLimiter
}

const dayMs = 86_400_000
/** Time beyond a call's limit for storing the result. */
const settlingMs = 60_000

export interface Answered<T> {
  readonly value: T
  /** `<model>@<prompt>-v<version>`, for records derived from the answer. */
  readonly madeBy: string
  /** 0 for a stored answer. */
  readonly costMillicents: number
  /** Cost of the original call. */
  readonly paidMillicents: number
  readonly kept: boolean
}

export interface Call {
  readonly organization: string
  readonly callId: string | undefined
  /** All inputs of the answer. Absent: the answer is not stored. */
  readonly parts?: readonly string[]
  readonly madeBy: string
  readonly purpose: string
  readonly model: string
  /** Upper bound in millicents. */
  readonly estimate: number
  /** Returns the price of a usage in millicents. */
  readonly costOf: (usage: Usage) => number
  readonly account: Account | undefined
  readonly signal: AbortSignal | undefined
}

/** Paid usage, with the answer or the error. */
export type Outcome<T> = { readonly paid: Usage } & ({ readonly value: T } | { readonly error: AppError })

/** Returns the stored answer to the same question, or a new answer. A new answer and its cost are committed together. */
export async function keptOrNew<T>(deps: CallDeps, call: Call, run: (signal: AbortSignal) => Promise<Outcome<T>>): Promise<Answered<T>> {
  const { store, settings, budget, meters, clock } = deps
  const { organization, madeBy, purpose, model, signal, parts } = call
  const id = parts && settings.cache_days > 0 ? derivedUuid(`${organization}\n${digestOf(parts)}`) : undefined
  const stored = id === undefined ? undefined : await store.open(AnswerCollection, organization).get(id)
  if (stored) {
    meters.countReused(purpose, model)
    return { value: stored.value as T, madeBy, costMillicents: 0, paidMillicents: stored.cost_millicents ?? 0, kept: true }
  }
  budget.requireCall(call.estimate)
  const attemptId = deps.ids.uuid()
  const forMs = settings.timeout_ms + settlingMs
  const heldCall = { id: call.callId ?? attemptId, attempt: attemptId, millicents: call.estimate, forMs }
  return deps.limiter.run({ organization, ...(signal ? { signal } : {}) }, () =>
    budget.reserve(organization, heldCall, call.account, async (settle) => {
      const outcome = await attempt(deps, call, run)
      const cost = call.costOf(outcome.paid)
      await deps.works.retryConflicts(async (work) => {
        await settle(work, cost, outcome.paid)
        if (!("value" in outcome) || id === undefined) return
        const expires_at = timestamp(clock.now() + settings.cache_days * dayMs)
        const answer = { id, value: outcome.value as Json, model: madeBy, cost_millicents: cost, expires_at }
        work.in(AnswerCollection, organization).insert(answer, { ifPresent: "keep" })
      })
      meters.paid(purpose, model, outcome.paid, cost, "value" in outcome ? "answered" : "unusable")
      if ("error" in outcome) throw outcome.error
      return { value: outcome.value, madeBy, costMillicents: cost, paidMillicents: cost, kept: false }
    }),
  )
}

/** Returns every outcome with a cost, including unusable answers. Throws failures without cost. */
async function attempt<T>(
  { settings, meters }: CallDeps,
  { model, purpose, signal }: Call,
  run: (signal: AbortSignal) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  const late = AbortSignal.timeout(settings.timeout_ms)
  try {
    return await run(signal ? AbortSignal.any([signal, late]) : late)
  } catch (error) {
    const failure = await failureOf(error, { model, canceled: signal?.aborted ?? false, timeoutMs: settings.timeout_ms })
    const paid = await paidFor(error)
    if (paid && failure instanceof AppError) return { paid, error: failure }
    meters.failed(purpose, model, failure instanceof AppError ? String(failure.details.reason ?? failure.code) : "internal")
    throw failure
  }
}

async function paidFor(error: unknown): Promise<Usage | undefined> {
  const { NoObjectGeneratedError } = await import("ai")
  return NoObjectGeneratedError.isInstance(error) && error.usage ? usageOf(error.usage) : undefined
}

/** Above the tokens of any model in a call. */
const maxTokens = 10_000_000

/** Returns the provider's reported usage within bounds, because reports may contain any number. */
export function usageOf({ inputTokens, outputTokens }: { inputTokens: number | undefined; outputTokens: number | undefined }): Usage {
  return { inputTokens: tokensIn(inputTokens), outputTokens: tokensIn(outputTokens) }
}

function tokensIn(reported: number | undefined): number {
  if (reported === undefined || Number.isNaN(reported)) return 0
  return Math.min(Math.max(0, Math.round(reported)), maxTokens)
}

function digestOf(parts: readonly string[]): string {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest("hex")
}
