// Waiting in tests: for the thing itself, with a word of what it is, and never for ever.

import { AppError } from "../core/kernel/errors.ts"
import { Patience } from "./patience.ts"

type Sought<T> = T | undefined | null | false

export interface Waiting {
  /** Of counted time (see `Patience`). Default 10 s. */
  readonly withinMs?: number
  readonly everyMs?: number
}

type Look<T> = () => Sought<T> | Promise<Sought<T>>

const maxPauseMs = 100

/** Looks again and again; resolves to what was found. When time is up it throws with what it waited for: the words, or else the code. */
export function until<T>(what: string, look: Look<T>, options?: Waiting): Promise<T>
export function until<T>(look: Look<T>, options?: Waiting): Promise<T>
export function until<T>(first: string | Look<T>, second?: Look<T> | Waiting, third?: Waiting): Promise<T> {
  if (typeof first === "string") return poll(first, second as Look<T>, third)
  return poll(String(first), first, second as Waiting | undefined)
}

/** As `until`, for tests that wait for other processes: a start, a kill, a browser, a disk. Waits a minute of counted time. */
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
    // What has taken long takes longer: to look costs those who are waited for.
    await patience.pause(Math.max(everyMs, Math.min(maxPauseMs, patience.countedMs / 10)))
  }
}

/** Times that one call is asked again; at a tenth of a second each. */
const maxAgain = 100
let askedAgain = 0

/** Asks again while the answer is 503, as clients are told to, but not for ever; `takeAskedAgain` tells how often. */
export async function patiently<T extends { readonly status: number }>(ask: () => Promise<T>): Promise<T> {
  for (let again = 0; ; again++) {
    const answer = await ask()
    if (answer.status !== 503) return answer
    await pauseBefore(again)
  }
}

/** The same for what is called in this process, and throws where a service would answer 503; it must be safe to repeat. */
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

/** How often anything was asked again after a 503, in this process; starts again. */
export function takeAskedAgain(): number {
  const count = askedAgain
  askedAgain = 0
  return count
}
