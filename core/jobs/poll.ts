// Polls the store for due jobs: at an interval, or earlier if a job is known to be due. Only one read runs at a time.

import type { Clock } from "../kernel/clock.ts"
import type { BoundedLog } from "../kernel/log.ts"

export interface PollArgs {
  readonly clock: Clock
  readonly everyMs: number
  readonly log: BoundedLog
  /** Resolves to true if another read should follow at once. */
  readonly look: () => Promise<boolean>
}

export class Poll {
  readonly #args: PollArgs
  #cancel: () => void = () => {}
  /** Monotonic time of the next read. */
  #due = Number.POSITIVE_INFINITY
  #looking: Promise<void> | undefined
  #stopped = true

  constructor(args: PollArgs) {
    this.#args = args
  }

  start(): void {
    this.#stopped = false
    this.soon(0)
  }

  /** Resolves when the read in progress has ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    this.#due = Number.POSITIVE_INFINITY
    await this.#looking
  }

  /** Moves the next read forward to at most `milliseconds` from now. */
  soon(milliseconds: number): void {
    if (this.#stopped) return
    const { clock, everyMs } = this.#args
    const wait = Math.max(0, Math.min(milliseconds, everyMs))
    const due = clock.monotonic() + wait
    if (due >= this.#due) return
    this.#cancel()
    this.#due = due
    this.#cancel = clock.after(wait, () => {
      this.#due = Number.POSITIVE_INFINITY
      if (this.#looking) return this.soon(10)
      this.#looking = this.#look().then((goOn) => {
        this.#looking = undefined
        this.soon(goOn ? 0 : everyMs)
      })
    })
  }

  async #look(): Promise<boolean> {
    try {
      return await this.#args.look()
    } catch (error) {
      this.#args.log.warn("poll", { err: error }, "due jobs could not be claimed; retried every poll_ms")
      return false
    }
  }
}
