// Time as a dependency, so tests can move it. Wall time dates documents. Monotonic time measures durations and leases.
import { setImmediate as nextTurn } from "node:timers/promises"
import { token } from "./di.ts"
import { throwUncaught } from "./promises.ts"

/** Time as a dependency, so tests can move it. Wall time dates documents. Monotonic time measures durations. */
export interface Clock {
  /** Wall time, milliseconds since the epoch. May jump. */
  now(): number
  /** Milliseconds since an arbitrary start. Never decreases. */
  monotonic(): number
  /** Calls `run` once, after at least `milliseconds`. Returns a function that cancels the timer. */
  after(milliseconds: number, run: () => void): () => void
}

export const Clock = token<Clock>("Clock")

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Formats a time as RFC 3339 in UTC with milliseconds. All times have this format. */
export function timestamp(milliseconds: number): string {
  // Formatting the date is the slow part. Most times of an event are today or its expiry day, so recent dates are cached.
  if (!Number.isInteger(milliseconds)) return new Date(milliseconds).toISOString()
  const day = Math.floor(milliseconds / dayMs)
  const slot = day & 15
  if (datedOn[slot] !== day) {
    const text = new Date(day * dayMs).toISOString()
    dates[slot] = text.slice(0, text.indexOf("T") + 1)
    datedOn[slot] = day
  }
  const ofDay = milliseconds - day * dayMs
  const seconds = Math.floor(ofDay / 1_000)
  const minutes = Math.floor(seconds / 60)
  const rest = 1_000 + (ofDay - seconds * 1_000)
  return `${dates[slot]}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:${two(seconds % 60)}.${String(rest).slice(1)}Z`
}

const dayMs = 86_400_000
const datedOn: number[] = new Array<number>(16).fill(Number.NaN)
const dates: string[] = new Array<string>(16).fill("")
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"))

function two(number: number): string {
  return twoDigits[number] ?? ""
}

/** Resolves after at least `milliseconds` of the clock, or once the signal aborts. */
export function sleep(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      cancel()
      signal?.removeEventListener("abort", end)
      resolve()
    }
    const cancel = clock.after(milliseconds, end)
    signal?.addEventListener("abort", end, { once: true })
  })
}

/** Resolves once data from sockets and threads has been handled, as far as it had arrived. */
export async function arrivals(): Promise<void> {
  // After a pause of the machine a turn runs its timers first. The second turn handles data that the first only began to read.
  for (let turn = 0; turn < 2; turn++) await nextTurn()
}

/** Like `clock.after`, for timeouts: handles data that has arrived before it calls `run`. */
export function giveUpAfter(clock: Clock, milliseconds: number, run: () => void): () => void {
  let isOver = false
  const cancel = clock.after(milliseconds, () => {
    arrivals()
      .then(() => isOver || run())
      .catch(throwUncaught)
  })
  return () => {
    isOver = true
    cancel()
  }
}
