// Measures each turn of this thread's event loop, in processor time. A machine that pauses the thread makes no turn longer.
const { threadCpuUsage } = process

/** Passes the milliseconds of each turn to `note`. Keeps no process alive and adds no turns. */
export class TurnMeter {
  readonly #note: (milliseconds: number) => void
  #used = threadCpuUsage()
  #began = performance.now()
  #next: NodeJS.Immediate

  constructor(note: (milliseconds: number) => void) {
    this.#note = note
    this.#next = this.#lookLater()
  }

  /** Also notes the turn in progress. */
  stop(): void {
    clearImmediate(this.#next)
    this.#look()
  }

  /** The kernel counts processor time in ticks. The clock bounds the error of a tick. */
  #look(): void {
    const { user, system } = threadCpuUsage(this.#used)
    const now = performance.now()
    this.#note(Math.min((user + system) / 1_000, now - this.#began))
    this.#used = threadCpuUsage()
    this.#began = now
  }

  /** An immediate without a reference runs once a turn, and lets the loop sleep. */
  #lookLater(): NodeJS.Immediate {
    return setImmediate(() => {
      this.#look()
      this.#next = this.#lookLater()
    }).unref()
  }
}
