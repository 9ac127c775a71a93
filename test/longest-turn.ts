// The longest turn of this thread's event loop. During a turn the thread serves one task and all others wait.
import { expect } from "chai"
import { collectGarbage } from "./garbage.ts"
import { TurnMeter } from "./turn-meter.ts"

/** The product's promise for each task of the main thread. */
export const maxTurnMs = 50

const maxRuns = 3

/** Returns the longest turn during `run` in milliseconds, and the result of `run`. */
export async function longestTurn<T>(run: () => Promise<T>): Promise<Measured<T>> {
  let milliseconds = 0
  // The garbage of earlier tests lengthens no turn.
  collectGarbage()
  const meter = new TurnMeter((turn) => {
    milliseconds = Math.max(milliseconds, turn)
  })
  try {
    const value = await run()
    meter.stop()
    return { milliseconds, value }
  } catch (error) {
    meter.stop()
    throw error
  }
}

interface Measured<T> {
  readonly milliseconds: number
  readonly value: T
}

/**
 * Like `longestTurn`, for a repeatable `run`. Repeats a long run and returns the least: neighbours on the machine slow a run
 * down, but the work itself takes its time in each run.
 */
export function repeatedLongestTurn<T>(run: () => Promise<T>): Promise<Measured<T>> {
  return leastTurn(() => longestTurn(run))
}

/** Like `repeatedLongestTurn`, for turns of another process. */
export async function leastTurn<T>(measure: () => Promise<Measured<T>>): Promise<Measured<T>> {
  let least = await measure()
  for (let runs = 1; runs < maxRuns && least.milliseconds >= maxTurnMs; runs++) {
    const again = await measure()
    if (again.milliseconds < least.milliseconds) least = again
  }
  return least
}

/** Fails if a turn was longer than the promise. */
export function expectShortTurn(milliseconds: number, what = "the longest turn"): void {
  expect(milliseconds, `${what}, milliseconds of the main thread`).to.be.below(maxTurnMs)
}

/** Prints the longest turns, the longest first. */
export function printLongestTurns(turns: readonly { readonly what: string; readonly milliseconds: number }[], count = 3): void {
  const longest = turns.toSorted((a, b) => b.milliseconds - a.milliseconds).slice(0, count)
  console.log(`      longest turns: ${longest.map(({ what, milliseconds }) => `${what} ${Math.round(milliseconds)} ms`).join(", ")}`)
}
