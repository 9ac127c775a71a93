// Waiting in tests: for the thing itself, with a word of what it is, and never for ever.

import { AppError } from "../core/kernel/errors.ts"
import { Patience } from "./patience.ts"

type Result<T> = T | undefined | null | false

export interface Waiting {
  /** Of counted time (see `Patience`). Default 10 s. */
  readonly withinMs?: number
  readonly everyMs?: number
}

type Look<T> = () => Result<T> | Promise<Result<T>>

const maxPauseMs = 100

/** Seeded faults make tests wait in vain, so their run sets a shorter time. */
function longestMs(defaultMs: number): number {
  return Number(process.env["MILLRACE_TEST_WAIT_MS"] ?? defaultMs)
}

/** Looks again and again; resolves to what was found. When time is up it throws with what it waited for: the words, or else the code. */
export function until<T>(what: string, look: Look<T>, options?: Waiting): Promise<T>
export function until<T>(look: Look<T>, options?: Waiting): Promise<T>
export function until<T>(first: string | Look<T>, second?: Look<T> | Waiting, third?: Waiting): Promise<T> {
  if (typeof first === "string") return poll(first, second as Look<T>, third)
  return poll(String(first), first, second as Waiting | undefined)
}

/** As `until`, for tests that wait for other processes: a start, a kill, a browser, a disk. Waits a minute of counted time. */
export const untilProcess: typeof until = <T>(first: string | Look<T>, second?: Look<T> | Waiting, third?: Waiting): Promise<T> => {
  const longer = { withinMs: longestMs(60_000) }
  if (typeof first === "string") return poll(first, second as Look<T>, { ...longer, ...third })
  return poll(String(first), first, { ...longer, ...(second as Waiting | undefined) })
}

async function poll<T>(what: string, look: Look<T>, { withinMs = longestMs(10_000), everyMs = 10 }: Waiting = {}): Promise<T> {
  const patience = new Patience()
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== null && found !== false) return found
    if (patience.countedMs > withinMs) {
      const { spentMs } = patience
      throw new Error(`Waited ${Math.round(withinMs / 1_000)} s in vain for: ${what}. The wait took ${Math.round(spentMs / 1_000)} s.`)
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
