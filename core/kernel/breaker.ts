// A circuit breaker: after repeated timeouts calls are refused for a while, then one call probes. Only silence opens it.
// A destination that answers, be it with an error, delays nobody.

/** Timeouts in a row, without an answer since these calls began. */
const openAfter = 5
const firstPauseMs = 5_000
const maxPauseMs = 300_000

/** How a call to a destination ended. */
export type Outcome =
  | "answered"
  | "silent"
  /** Says nothing of the destination, such as a call that its caller gave up. */
  | "unknown"

export interface BreakerCall {
  readonly startedAt: number
  readonly isProbe: boolean
}

/** Times are those of a monotonic clock, in milliseconds. */
export class Breaker {
  readonly calls = new Set<BreakerCall>()
  /** Calls in a row that got no answer. */
  timeouts = 0
  #answeredAt = Number.NEGATIVE_INFINITY
  #pauseMs = 0
  #opensAgainAt = 0

  get isOpen(): boolean {
    return this.#pauseMs > 0
  }

  /** True if nothing is left to remember. */
  get isIdle(): boolean {
    return this.calls.size === 0 && this.timeouts === 0 && !this.isOpen
  }

  get pauseMs(): number {
    return this.#pauseMs
  }

  /** When the next call may probe. */
  get probesAt(): number {
    return this.#opensAgainAt
  }

  /** When the oldest unanswered call began; undefined without one. */
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

  /** Ends a call. Returns what became of the breaker; undefined if it stays as it was. */
  end(call: BreakerCall, outcome: Outcome, now: number): "opened" | "closed" | undefined {
    this.calls.delete(call)
    if (outcome === "answered") return this.#answered(now)
    // Another call was answered meanwhile: the destination is there.
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
