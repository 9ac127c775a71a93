// Differences between the test tiers (test/run.ts sets these variables): number of drawn inputs, their seed, and time limits.
import { expect } from "chai"

/** Number of drawn inputs per operation, and per other frequently drawn subject. */
export const drawnRuns = Number(process.env["MILLRACE_TEST_RUNS"] ?? 5)

export const seed = Number(process.env["MILLRACE_TEST_SEED"] ?? 20_260_929)

/** Number of kills of a service under load. */
export const kills = Number(process.env["MILLRACE_TEST_KILLS"] ?? 3)

/** Rules that hold by construction are tested with some cases in the first tier, and with all in other tiers and single files. */
export const isFast = process.env["MILLRACE_TEST_TIER"] === "fast"

const isSlow = process.env["MILLRACE_TEST_TIER"] === "slow"

/** Selects among many equal cases: the sample in the first tier, the others in the slow tier, all elsewhere. */
export function isDue(isOfSample: boolean): boolean {
  return isFast ? isOfSample : !(isSlow && isOfSample)
}

/** Selects among many equal cases: one in `oneIn` in the first tier, the others in the slow tier, all elsewhere. */
export function sampleOf<T>(cases: readonly T[], oneIn = 3): readonly T[] {
  return cases.filter((_, index) => isDue(index % oneIn === 0))
}

/** Returns every third case, for files whose slow counterpart runs all cases. */
export function thirdOf<T>(cases: readonly T[]): readonly T[] {
  return cases.filter((_, index) => index % 3 === 0)
}

/** Returns the number for the current tier. A file run alone uses the slow tier's number. */
export function byTier(of: { readonly fast: number; readonly slow: number; readonly soak: number }): number {
  if (isFast) return of.fast
  return isSoak ? of.soak : of.slow
}

/** The soak is the machine's only load. */
export const isSoak = process.env["MILLRACE_TEST_TIER"] === "soak"

/** Checks a time in the soak only: in other tiers it would measure the machine's load. */
export function expectWithin(limitMs: number, takenMs: number | undefined, what: string): void {
  if (isSoak) expect(takenMs, `${what}, milliseconds`).to.be.below(limitMs)
}
