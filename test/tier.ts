// What differs between the tiers of tests (test/run.ts sets these variables): how many inputs are drawn, from which seed,
// and whether times are judged.
import { expect } from "chai"

/** Drawn inputs of each operation, and of anything else that a test draws often. */
export const drawnRuns = Number(process.env["MILLRACE_TEST_RUNS"] ?? 5)

export const seed = Number(process.env["MILLRACE_TEST_SEED"] ?? 20_260_929)

/** Kills of a service under load. */
export const kills = Number(process.env["MILLRACE_TEST_KILLS"] ?? 3)

/** What holds by construction is shown for some in the first tier, and for all in the others and where a file is run by itself. */
export const isFast = process.env["MILLRACE_TEST_TIER"] === "fast"

const isSlow = process.env["MILLRACE_TEST_TIER"] === "slow"

/** Whether it is the turn of one of many cases alike: in the first tier of those that are of its sample, in the slow one of the others, elsewhere of all. */
export function isDue(isOfSample: boolean): boolean {
  return isFast ? isOfSample : !(isSlow && isOfSample)
}

/** Of many cases alike: every third (or what is said) in the first tier, the others in the slow one, all elsewhere. */
export function sampleOf<T>(cases: readonly T[], oneIn = 3): readonly T[] {
  return cases.filter((_, index) => isDue(index % oneIn === 0))
}

/** Where all of them are tried in a file of the slow tier: every third. */
export function thirdOf<T>(cases: readonly T[]): readonly T[] {
  return cases.filter((_, index) => index % 3 === 0)
}

/** How many of a thing each tier has; a file that is run by itself has what the slow tier has. */
export function byTier(of: { readonly fast: number; readonly slow: number; readonly soak: number }): number {
  if (isFast) return of.fast
  return isSoak ? of.soak : of.slow
}

/** The soak has the machine to itself. */
export const isSoak = process.env["MILLRACE_TEST_TIER"] === "soak"

/** Judges a time in the soak only: elsewhere it would tell how busy the machine is. */
export function expectWithin(limitMs: number, takenMs: number | undefined, what: string): void {
  if (isSoak) expect(takenMs, `${what}, milliseconds`).to.be.below(limitMs)
}
