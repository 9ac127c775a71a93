// How many deferred steps run at once: each type of action has slots of its own, so that mail does not wait behind calls
// that hang, and organizations take turns for them, with a quarter that goes only to those that hold none.
import type { Metrics } from "../../contract/metrics.ts"
import { measureWaiting } from "../../contract/waiting-metrics.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { FairLimiter, type LimitedWork } from "../../kernel/fair-limiter.ts"

export interface StepSlotsOptions {
  /** Of each type of action. */
  readonly slots: number
  readonly clock: Clock
  readonly metrics: Metrics
}

export class StepSlots {
  readonly #options: StepSlotsOptions
  readonly #limiters = new Map<string, FairLimiter>()

  constructor(options: StepSlotsOptions) {
    this.#options = options
  }

  /** Runs the work when a slot of the action's type is free. Rejects as it does, and with the signal's reason where that comes before. */
  run<T>(action: string, who: LimitedWork, work: () => Promise<T>): Promise<T> {
    return this.#limiter(action).run(who, work)
  }

  #limiter(action: string): FairLimiter {
    const known = this.#limiters.get(action)
    if (known) return known
    const { slots, clock, metrics } = this.#options
    const limiter = new FairLimiter({
      slots,
      reservedSlots: Math.floor(slots / 4),
      // The jobs that a node holds are bounded, and so are their steps.
      maxWaiting: Number.POSITIVE_INFINITY,
      refusal: () => new AppError("unavailable", "Too many steps are waiting.", { reason: "overloaded" }),
      now: () => clock.monotonic(),
    })
    this.#limiters.set(action, limiter)
    measureWaiting(metrics, action, () => limiter.shares())
    return limiter
  }
}
