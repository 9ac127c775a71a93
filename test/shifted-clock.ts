// A clock that tests shift while timers go on running in real time: for what compares times, in services under load too.
// Where timers are to run as time is moved, use the MovableClock that `testHost` has.
import { type Clock, systemClock } from "../core/kernel/clock.ts"

export class ShiftedClock implements Clock {
  /** Milliseconds that wall time and measured time are ahead. */
  ahead = 0
  #stepped = 0
  #stands: { readonly now: number; readonly monotonic: number } | undefined
  now = () => (this.#stands?.now ?? systemClock.now()) + this.ahead + this.#stepped
  monotonic = () => (this.#stands?.monotonic ?? systemClock.monotonic()) + this.ahead
  after = systemClock.after

  /** Sets wall time alone, on or back, as an administrator does. */
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
