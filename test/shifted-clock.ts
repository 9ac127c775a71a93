// A clock for tests of time comparisons, also under load: tests shift it while timers run in real time. If timers must follow the
// moved time, use the MovableClock of `testHost`.
import { type Clock, systemClock } from "../core/kernel/clock.ts"

export class ShiftedClock implements Clock {
  /** Milliseconds by which wall time and measured time are ahead. */
  ahead = 0
  #stepped = 0
  #stands: { readonly now: number; readonly monotonic: number } | undefined
  now = () => (this.#stands?.now ?? systemClock.now()) + this.ahead + this.#stepped
  monotonic = () => (this.#stands?.monotonic ?? systemClock.monotonic()) + this.ahead
  after = systemClock.after

  /** Moves only wall time, forward or back, like an administrator. */
  step(milliseconds: number): void {
    this.#stepped += milliseconds
  }

  /** Stops the clock; only `ahead` moves it. Whole milliseconds keep differences exact. */
  stand(): void {
    this.#stands = { now: systemClock.now(), monotonic: Math.ceil(systemClock.monotonic()) }
  }

  goOn(): void {
    this.#stands = undefined
  }
}
