// Waiting in tests: for the thing itself, with a word of what it is, and never for ever.

import { AppError } from "../core/kernel/errors.ts"

type Sought<T> = T | undefined | null | false

export interface Waiting {
  /** Longer where what is waited for may take longer than this on a busy machine. */
  readonly withinMs?: number
  readonly everyMs?: number
}

type Look<T> = () => Sought<T> | Promise<Sought<T>>

const maxPauseMs = 100

/** Tests of seeded faults wait in vain, and not for long. */
function longestMs(): number {
  return Number(process.env["MILLRACE_TEST_WAIT_MS"] ?? 300_000)
}

/** Looks again and again; resolves to what was found. When time is up it throws with what it waited for: the words, or else the code. */
export function until<T>(what: string, look: Look<T>, options?: Waiting): Promise<T>
export function until<T>(look: Look<T>, options?: Waiting): Promise<T>
export function until<T>(first: string | Look<T>, second?: Look<T> | Waiting, third?: Waiting): Promise<T> {
  if (typeof first === "string") return poll(first, second as Look<T>, third)
  return poll(String(first), first, second as Waiting | undefined)
}

async function poll<T>(what: string, look: Look<T>, { withinMs = longestMs(), everyMs = 10 }: Waiting = {}): Promise<T> {
  const began = performance.now()
  for (;;) {
    const result = await look()
    if (result !== undefined && result !== null && result !== false) return result
    const waitedMs = performance.now() - began
    if (waitedMs > withinMs) throw new Error(`Waited ${Math.round(withinMs / 1_000)} s in vain for: ${what}.`)
    // What has taken long takes longer: to look costs those who are waited for.
    const pauseMs = Math.max(everyMs, Math.min(maxPauseMs, waitedMs / 10))
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
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
