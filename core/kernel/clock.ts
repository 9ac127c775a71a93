// Time as a dependency, so that tests move it. Wall time dates documents; monotonic time measures and holds leases.
import { token } from "./di.ts"

export interface Clock {
  /** Wall time, milliseconds since the epoch. May jump. */
  now(): number
  /** Milliseconds since an arbitrary start; never goes back. */
  monotonic(): number
  /** Calls back once, after at least that many milliseconds; returns what cancels it. */
  after(milliseconds: number, run: () => void): () => void
}

export const Clock = token<Clock>("Clock")

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** RFC 3339 in UTC with milliseconds: the one way times are written. */
export function timestamp(milliseconds: number): string {
  // Many documents are written in one millisecond, with a handful of times each; formatting one costs a microsecond.
  const slot = milliseconds & 15
  if (formattedAt[slot] !== milliseconds) {
    formatted[slot] = new Date(milliseconds).toISOString()
    formattedAt[slot] = milliseconds
  }
  return formatted[slot] ?? ""
}

const formattedAt: number[] = new Array<number>(16).fill(Number.NaN)
const formatted: string[] = new Array<string>(16).fill("")

export function sleep(clock: Clock, milliseconds: number): Promise<void> {
  return new Promise((resolve) => clock.after(milliseconds, resolve))
}
