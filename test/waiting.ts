// Waits in tests for a condition with a description, within a limit.

import { AppError } from "../core/kernel/errors.ts"
import { Patience } from "./patience.ts"

type Sought<T> = T | undefined | null | false

export interface Waiting {
  /** Counted time (see `Patience`). Default 10 s. */
  readonly withinMs?: number
  readonly everyMs?: number
}

type Look<T> = () => Sought<T> | Promise<Sought<T>>

const maxPauseMs = 100

/**
 * Polls until `look` returns a value, and resolves to it. On timeout, throws with the description, or with the code without one.
 */
export function until<T>(what: string, look: Look<T>, options?: Waiting): Promise<T>
export function until<T>(look: Look<T>, options?: Waiting): Promise<T>
export function until<T>(first: string | Look<T>, second?: Look<T> | Waiting, third?: Waiting): Promise<T> {
  if (typeof first === "string") return poll(first, second as Look<T>, third)
  return poll(String(first), first, second as Waiting | undefined)
}

/** Like `until`, for tests that wait for other processes: a start, a kill, a browser, a disk. Waits a minute of counted time. */
export const untilProcess: typeof until = <T>(first: string | Look<T>, second?: Look<T> | Waiting, third?: Waiting): Promise<T> => {
  if (typeof first === "string") return poll(first, second as Look<T>, third, 60_000)
  return poll(String(first), first, second as Waiting | undefined, 60_000)
}

/** A busy machine may lose an answer in time, and the product then waits for the end of a lease of one minute. */
const busyMs = 120_000

async function poll<T>(what: string, look: Look<T>, { withinMs, everyMs = 10 }: Waiting = {}, defaultMs = 10_000): Promise<T> {
  const patience = new Patience()
  // Seeded faults make tests wait in vain, so their run sets a shorter time.
  const setMs = withinMs ?? (process.env["MILLRACE_TEST_WAIT_MS"] && Number(process.env["MILLRACE_TEST_WAIT_MS"]))
  const [maxWaitMs, maxBusyMs] = [setMs || defaultMs, setMs ? 0 : busyMs]
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== null && found !== false) return found
    if (patience.countedMs > maxWaitMs && !(patience.wasBusy && patience.spentMs < maxBusyMs)) {
      const [counted, spent] = [maxWaitMs, patience.spentMs].map((ms) => Math.round(ms / 1_000))
      throw new Error(`Waited ${counted} s in vain for: ${what}. The wait took ${spent} s.`)
    }
    // Polls less often over time, since each look takes processor time from the awaited work.
    await patience.pause(Math.max(everyMs, Math.min(maxPauseMs, patience.countedMs / 10)))
  }
}

/** Retries per call, a tenth of a second apart. */
const maxAgain = 100
let askedAgain = 0

/** Retries while the answer is 503, as clients do, within bounds. `takeAskedAgain` returns the count. */
export async function patiently<T extends { readonly status: number }>(ask: () => Promise<T>): Promise<T> {
  for (let again = 0; ; again++) {
    const answer = await ask()
    if (answer.status !== 503) return answer
    await pauseBefore(again)
  }
}

/** The same for calls in this process that throw `unavailable`. They must be safe to repeat. */
export async function untilAvailable<T>(run: () => Promise<T>): Promise<T> {
  for (let again = 0; ; again++) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof AppError && error.code === "unavailable")) throw error
      await pauseBefore(again)
    }
  }
}

async function pauseBefore(again: number): Promise<void> {
  if (again === maxAgain) throw new Error(`Answered 503 ${maxAgain} times in a row.`)
  askedAgain++
  await new Promise((resolve) => setTimeout(resolve, 100))
}

/** Returns the number of retries after a 503 in this process, and resets it. */
export function takeAskedAgain(): number {
  const count = askedAgain
  askedAgain = 0
  return count
}
