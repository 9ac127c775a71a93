// Time as a dependency, so that tests move it. Wall time dates documents; monotonic time measures and holds leases.
import { setImmediate as nextTurn } from "node:timers/promises"
import { token } from "./di.ts"
import { throwUncaught } from "./promises.ts"

/** Time as a dependency, so that tests move it. Wall time dates documents; monotonic time measures. */
export interface Clock {
  /** Wall time, milliseconds since the epoch. May jump. */
  now(): number
  /** Milliseconds since an arbitrary start; never goes back. */
  monotonic(): number
  /** Calls back once, after at least that many milliseconds; returns what cancels it. */
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

/** RFC 3339 in UTC with milliseconds: the one way times are written. */
export function timestamp(milliseconds: number): string {
  // Of what an event leaves behind, most is written today or expires on one other day; the date is what takes time to format.
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

/** Resolves after at least that many milliseconds of the clock, or once the signal aborts. */
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

/** Resolves once what had arrived by sockets and from threads has been taken. */
export async function arrivals(): Promise<void> {
  // After a pause of the machine a turn runs its timers first; the second is for what the first only began to read.
  for (let turn = 0; turn < 2; turn++) await nextTurn()
}

/** As `clock.after`, for giving something up: what has arrived meanwhile goes first. */
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
