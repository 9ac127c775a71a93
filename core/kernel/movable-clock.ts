// A clock for tests and rehearsals. It follows the system clock until it is set or moved. A move runs the timers it passes
// at once. Other timers run at their normal time.
import type { Clock } from "./clock.ts"

interface Timer {
  readonly due: number
  readonly run: () => void
}

export class MovableClock implements Clock {
  #moved = 0
  /** Wall time while it is frozen. */
  #standing: number | undefined
  readonly #timers = new Map<NodeJS.Timeout, Timer>()

  now(): number {
    return this.#standing ?? Date.now() + this.#moved
  }

  monotonic(): number {
    return performance.now() + this.#moved
  }

  after(milliseconds: number, run: () => void): () => void {
    const handle = setTimeout(() => this.#fire(handle), milliseconds)
    handle.unref()
    this.#timers.set(handle, { due: this.monotonic() + milliseconds, run })
    return () => this.#cancel(handle)
  }

  /** Freezes wall time at a moment (RFC 3339 or milliseconds since the epoch). Monotonic time continues. */
  set(at: string | number): void {
    this.#standing = typeof at === "number" ? at : Date.parse(at)
    if (Number.isNaN(this.#standing)) throw new RangeError(`"${at}" is not a time; expected RFC 3339, such as 2026-01-31T09:00:00Z.`)
  }

  /** Resumes wall time from its frozen value. */
  run(): void {
    if (this.#standing === undefined) return
    this.#moved += this.#standing - (Date.now() + this.#moved)
    this.#standing = undefined
  }

  /** Advances wall time and monotonic time, and runs the timers that become due. */
  move(milliseconds: number): void {
    this.#moved += milliseconds
    if (this.#standing !== undefined) this.#standing += milliseconds
    const now = this.monotonic()
    const due = [...this.#timers].filter(([, timer]) => timer.due <= now).sort(([, a], [, b]) => a.due - b.due)
    for (const [handle] of due) this.#fire(handle)
  }

  #fire(handle: NodeJS.Timeout): void {
    const timer = this.#timers.get(handle)
    this.#cancel(handle)
    timer?.run()
  }

  #cancel(handle: NodeJS.Timeout): void {
    clearTimeout(handle)
    this.#timers.delete(handle)
  }
}
