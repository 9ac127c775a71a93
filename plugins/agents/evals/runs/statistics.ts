// Confidence intervals of shares with few trials. Pure.

/** The two-sided normal quantile of 95 %. */
const z = 1.959964

export interface Interval {
  readonly low: number
  readonly high: number
}

/**
 * Returns Wilson's score interval of a share. Its coverage is correct for small counts, unlike the usual interval (E. B. Wilson
 * 1927, JASA 22; Brown, Cai and DasGupta 2001, doi:10.1214/ss/1009213286). Without trials: 0 to 1.
 */
export function wilson(passed: number, trials: number): Interval {
  if (trials === 0) return { low: 0, high: 1 }
  const share = passed / trials
  const denominator = 1 + z ** 2 / trials
  const centre = (share + z ** 2 / (2 * trials)) / denominator
  const half = (z / denominator) * Math.sqrt((share * (1 - share)) / trials + z ** 2 / (4 * trials ** 2))
  // At the ends the interval reaches 0 or 1 exactly. The formula has a rounding error there.
  return { low: passed === 0 ? 0 : Math.max(0, centre - half), high: passed === trials ? 1 : Math.min(1, centre + half) }
}

export interface Share {
  readonly passed: number
  readonly trials: number
}

/**
 * Returns the interval of a share's decrease, from the two Wilson intervals (method 10 of R. G. Newcombe 1998,
 * doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I). If it lies above 0, the share decreased.
 */
export function fall(before: Share, now: Share): Interval {
  const [was, is] = [wilson(before.passed, before.trials), wilson(now.passed, now.trials)]
  const [p1, p2] = [middle(before), middle(now)]
  const difference = p1 - p2
  return {
    low: difference - Math.hypot(p1 - was.low, is.high - p2),
    high: difference + Math.hypot(was.high - p1, p2 - is.low),
  }
}

function middle({ passed, trials }: Share): number {
  return trials === 0 ? 0.5 : passed / trials
}
