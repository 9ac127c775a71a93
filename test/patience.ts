// Measures a wait in the time of a quiet machine.
import { pbkdf2 } from "node:crypto"
import { promisify } from "node:util"

const derive = promisify(pbkdf2)

/** Milliseconds of the fixed piece of work on a quiet machine. */
const quietMs = 5

/** Runs in another thread, to lengthen no turn of this thread. */
async function measureSlowness(): Promise<number> {
  const began = performance.now()
  await derive("password", "salt", 10_000, 32, "sha512")
  return Math.max(1, (performance.now() - began) / quietMs)
}

const measureEveryMs = 1_000
const busySlowness = 3

/**
 * Counts a wait in two steps, so a busy or paused machine does not end it early.
 * A round (a look and its pause) counts at most twice its pause: a process that stood still for a minute counts one round.
 * Each second, a fixed piece of work is timed. The slowness is its time divided by its time on a quiet machine, and counted time
 * is divided by it. Other processes share the processor with that work, so their part of the wait grows as it does: ten busy
 * neighbours and a processor ten times as slow both make ten seconds last a hundred.
 */
export class Patience {
  readonly #began = performance.now()
  #at = this.#began
  #measuredAt = this.#began
  #slowness = 1
  #countedMs = 0
  #wasBusy = false

  /** True if the machine was slow during the wait. */
  get wasBusy(): boolean {
    return this.#wasBusy
  }

  get countedMs(): number {
    return this.#countedMs
  }

  get spentMs(): number {
    return performance.now() - this.#began
  }

  async pause(pauseMs: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    if (performance.now() - this.#measuredAt > measureEveryMs) {
      this.#slowness = await measureSlowness()
      this.#measuredAt = performance.now()
      this.#wasBusy ||= this.#slowness > busySlowness
    }
    const now = performance.now()
    this.#countedMs += Math.min(now - this.#at, 2 * pauseMs) / this.#slowness
    this.#at = now
  }
}
