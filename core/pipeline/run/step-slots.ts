// Limits how many deferred steps run at once. Each type of action has slots of its own. Steps take turns by organization,
// then pipeline, then destination: the host, mail domain or connection that a step calls. A destination that never answers
// fills its own share, and leaves slots for the others.
import type { AnyAction } from "../../contract/action.ts"
import { type Metrics, measureWaiting } from "../../contract/metrics.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Share } from "../../kernel/fair-scheduler.ts"
import { TypeSlots } from "./type-slots.ts"

export interface StepSlotsOptions {
  /** Steps of one type of action that run at once for one destination of an organization. */
  readonly slots: number
  readonly clock: Clock
  readonly metrics: Metrics
}

/** A step that needs a slot. */
export interface StepCaller {
  readonly organization: string
  readonly pipeline: string
  /** Empty if the action declares no destination. */
  readonly destination: string
  /** Aborts the wait. A running step continues. */
  readonly signal: AbortSignal
}

/** A step outside of the queue. Its execution leaves memory and returns when the queue is shorter. */
export interface Rest {
  /** Calls back once, when the step may join the queue. */
  onTurn(wake: () => void): void
  leave(): void
}

type SlottedAction = Pick<AnyAction, "type" | "slotsPerDestination">

export class StepSlots {
  readonly #options: StepSlotsOptions
  readonly #types = new Map<string, TypeSlots>()

  constructor(options: StepSlotsOptions) {
    this.#options = options
  }

  /** Runs the work in a slot of the action's type. Rejects with the work's error, or with the signal's reason before the start. */
  run<T>(action: SlottedAction, caller: StepCaller, work: () => Promise<T>): Promise<T> {
    return this.#type(action).run(caller, work)
  }

  /** Returns a rest if the destination's queue is long. Returns undefined if the step should wait or run. */
  rest(action: SlottedAction, caller: StepCaller): Rest | undefined {
    return this.#type(action).rest(caller)
  }

  #type({ type: name, slotsPerDestination = 1 }: SlottedAction): TypeSlots {
    const known = this.#types.get(name)
    if (known) return known
    const { slots, clock, metrics } = this.#options
    const type = new TypeSlots(slots * slotsPerDestination, () => clock.monotonic())
    this.#types.set(name, type)
    measureWaiting(metrics, name, (): readonly Share[] => type.shares())
    return type
  }
}
