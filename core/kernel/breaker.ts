// A circuit breaker. After repeated timeouts it refuses calls for a while, then lets one call probe. Only timeouts open it,
// since a fast error delays no other call.

/** Timeouts in a row, without an answer since these calls began. */
const openAfter = 5
const firstPauseMs = 5_000
const maxPauseMs = 300_000

/** How a call to a destination ended. */
export type Outcome =
  | "answered"
  | "silent"
  /** No evidence about the destination, such as a call canceled by its caller. */
  | "unknown"

export interface BreakerCall {
  readonly startedAt: number
  readonly isProbe: boolean
}

/** Times are those of a monotonic clock, in milliseconds. */
export class Breaker {
  readonly calls = new Set<BreakerCall>()
  /** Unanswered calls in a row. */
  timeouts = 0
  #answeredAt = Number.NEGATIVE_INFINITY
  #pauseMs = 0
  #opensAgainAt = 0

  get isOpen(): boolean {
    return this.#pauseMs > 0
  }

  /** True if the breaker has no state to remember. */
  get isIdle(): boolean {
    return this.calls.size === 0 && this.timeouts === 0 && !this.isOpen
  }

  get pauseMs(): number {
    return this.#pauseMs
  }

  /** Time of the next possible probe. */
  get probesAt(): number {
    return this.#opensAgainAt
  }

  /** Start of the oldest unanswered call. Undefined without an unanswered call. */
  get oldest(): number | undefined {
    const [first] = this.calls
    return first?.startedAt
  }

  /** Begins a call. Returns the milliseconds to wait if the breaker refuses it. */
  begin(now: number): BreakerCall | number {
    const isProbe = this.isOpen
    if (isProbe) {
      for (const call of this.calls) if (call.isProbe) return Math.min(this.#pauseMs, firstPauseMs)
      if (now < this.#opensAgainAt) return this.#opensAgainAt - now
    }
    const call = { startedAt: now, isProbe }
    this.calls.add(call)
    return call
  }

  /** Ends a call. Returns the breaker's change of state, or undefined without a change. */
  end(call: BreakerCall, outcome: Outcome, now: number): "opened" | "closed" | undefined {
    this.calls.delete(call)
    if (outcome === "answered") return this.#answered(now)
    // Another call was answered meanwhile, so the destination is up.
    if (outcome === "unknown" || call.startedAt < this.#answeredAt) return undefined
    this.timeouts++
    if (this.isOpen && !call.isProbe) return undefined
    if (!this.isOpen && this.timeouts < openAfter) return undefined
    this.#pauseMs = this.isOpen ? Math.min(this.#pauseMs * 2, maxPauseMs) : firstPauseMs
    this.#opensAgainAt = now + this.#pauseMs
    return "opened"
  }

  #answered(now: number): "closed" | undefined {
    const wasOpen = this.isOpen
    this.timeouts = 0
    this.#answeredAt = now
    this.#pauseMs = 0
    return wasOpen ? "closed" : undefined
  }
}
