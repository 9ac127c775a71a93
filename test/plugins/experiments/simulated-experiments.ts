// Simulated experiments with a known truth, drawn from a seed and checked every day. Measures the error rates of live evidence.
// Tests draw a few, the benchmark a thousand.
import { allocate } from "../../../plugins/pages/experiments/live/allocation.ts"
import { type Cell, cellsByDay, Pair } from "../../../plugins/pages/experiments/live/counts.ts"
import type { WeightSegment } from "../../../plugins/pages/experiments/live/page-weights.ts"
import { checkRatio } from "../../../plugins/pages/experiments/live/sample-ratio-check.ts"
import { contrastEvidence, weightedRates } from "../../../plugins/pages/experiments/statistics/contrast.ts"
import { fixedHorizonVisitors, normalQuantile } from "../../../plugins/pages/experiments/statistics/distributions.ts"
import { type Bin, quantileInterval } from "../../../plugins/pages/experiments/statistics/quantile.ts"
import { rateInterval } from "../../../plugins/pages/experiments/statistics/rate.ts"
import { randomFrom } from "../../random.ts"

export interface Truth {
  readonly days: number
  readonly visitorsPerDay: number
  /** Rates of each variant, the control first. On weekends all are halved. */
  readonly rates: readonly number[]
  readonly weekends?: boolean
  /** Probability that a visitor of the last variant is lost before counting. */
  readonly lost?: number
  /** True if the weights follow the evidence. */
  readonly thompson?: boolean
}

interface Drawn {
  readonly cells: readonly Cell[]
  readonly segments: readonly WeightSegment[]
}

const dayMs = 86_400_000
const alpha = 0.05
const ratioAlpha = 0.01

function drawExperiment(truth: Truth, random: () => number): Drawn {
  const { rates } = truth
  const cells: Cell[] = []
  const segments: WeightSegment[] = [{ from: 0, shares: rates.map(() => 1 / rates.length) }]
  for (let day = 0; day < truth.days; day++) {
    if (truth.thompson && day > 0) {
      const rule = { kind: "thompson", floor: 0.1, prior: "none", interval: "1d" } as const
      const { shares } = allocate({ rule, variantCount: rates.length, counts: { cells, vitals: [] }, segments })
      segments.push({ from: day * dayMs, shares })
    }
    const segment = segments.length - 1
    const shares = segments[segment]?.shares ?? []
    cells.push(...drawDay(truth, { day, segment, shares }, random))
  }
  return { cells, segments }
}

function drawDay(
  { rates, visitorsPerDay, lost = 0, weekends }: Truth,
  { day, segment, shares }: { day: number; segment: number; shares: readonly number[] },
  random: () => number,
): Cell[] {
  const half = weekends && day % 7 >= 5 ? 0.5 : 1
  const counted = rates.map(() => ({ visitors: 0, conversions: 0 }))
  for (let visitor = 0; visitor < visitorsPerDay; visitor++) {
    const variant = variantAt(shares, random())
    const converts = random() < (rates[variant] ?? 0) * half
    const own = counted[variant]
    if (!own || (variant === rates.length - 1 && lost > 0 && random() < lost)) continue
    own.visitors++
    if (converts) own.conversions++
  }
  return counted.map((own, variant) => ({ day, segment, variant, ...own, rage_clicks: 0, scroll_bails: 0, form_abandons: 0 }))
}

function variantAt(shares: readonly number[], point: number): number {
  let remaining = point
  for (const [place, share] of shares.entries()) {
    remaining -= share
    if (remaining < 0) return place
  }
  return shares.length - 1
}

/** Shares of the experiments with each error on any day. */
interface Errors {
  /** A verdict in the wrong direction. */
  readonly wrongVerdict: number
  /** A verdict, in either direction. */
  readonly verdict: number
  readonly differenceMissed: number
  readonly rateMissed: number
  readonly ratioAlarm: number
  /** A verdict of a test that treats each day as its only look. */
  readonly naiveVerdict: number
  /** Mean days until the verdict, over experiments with a verdict. */
  readonly meanDays: number
}

export function errorsOf(truth: Truth, experiments: number, seed: number): Errors {
  const random = randomFrom(seed)
  const sums = { wrongVerdict: 0, verdict: 0, differenceMissed: 0, rateMissed: 0, ratioAlarm: 0, naiveVerdict: 0, days: 0 }
  const count = (what: boolean) => (what ? 1 : 0)
  for (let run = 0; run < experiments; run++) {
    const view = look(truth, drawExperiment(truth, random))
    sums.wrongVerdict += count(view.wrongVerdict)
    sums.verdict += count(view.verdictOn !== undefined)
    sums.days += view.verdictOn ?? 0
    sums.differenceMissed += count(view.differenceMissed)
    sums.rateMissed += count(view.rateMissed)
    sums.ratioAlarm += count(view.ratioAlarm)
    sums.naiveVerdict += count(view.naiveVerdict)
  }
  const { days, verdict, ...rest } = sums
  const shares = Object.fromEntries(Object.entries(rest).map(([name, sum]) => [name, sum / experiments])) as Omit<
    Errors,
    "meanDays" | "verdict"
  >
  return { ...shares, verdict: verdict / experiments, meanDays: verdict > 0 ? days / verdict : Number.NaN }
}

interface Seen {
  wrongVerdict: boolean
  differenceMissed: boolean
  rateMissed: boolean
  ratioAlarm: boolean
  naiveVerdict: boolean
  verdictOn: number | undefined
}

function look(truth: Truth, { cells, segments }: Drawn): Seen {
  const [control = 0, ...others] = truth.rates
  const pairs = others.map((_, place) => new Pair(segments, place + 1, 0, "conversions"))
  const totals = truth.rates.map(() => ({ n: 0, s: 0 }))
  const ratioAlarm = checkRatio(cells, segments, truth.rates.length).pValue <= ratioAlpha
  const view: Seen = {
    wrongVerdict: false,
    differenceMissed: false,
    rateMissed: false,
    ratioAlarm,
    naiveVerdict: false,
    verdictOn: undefined,
  }
  for (const { day, cells: ofDay } of cellsByDay(cells)) {
    for (const [place, total] of totals.entries()) addTo(total, place, ofDay)
    for (const [place, pair] of pairs.entries()) {
      pair.add(ofDay)
      const difference = (others[place] ?? 0) - control
      // On weekends a difference changes, except a difference of zero.
      lookAtPair(view, pair, { day, difference, level: alpha / others.length, constant: difference === 0 || !truth.weekends })
      view.naiveVerdict ||= isNaivelyTold(totals[0] ?? nobody, totals[place + 1] ?? nobody)
    }
    view.rateMissed ||= !truth.weekends && totals.some((total, place) => isMissed(total, truth.rates[place] ?? 0))
  }
  return view
}

const nobody = { n: 0, s: 0 }

function addTo(total: { n: number; s: number }, place: number, cells: readonly Cell[]): void {
  for (const { variant, visitors, conversions } of cells) {
    if (variant !== place) continue
    total.n += visitors
    total.s += conversions
  }
}

interface Look {
  readonly day: number
  /** The true difference. */
  readonly difference: number
  readonly level: number
  readonly constant: boolean
}

/** An interval excludes the values refuted by the evidence, so the evidence replaces a search for the interval's ends. */
function lookAtPair(view: Seen, { groups }: Pair, { day, difference, level, constant }: Look): void {
  const bound = -Math.log(level)
  const rates = weightedRates(groups)
  if (contrastEvidence(groups) >= bound) {
    view.verdictOn ??= day + 1
    view.wrongVerdict ||= !rates || (rates.variant - rates.control) * difference <= 0
  }
  view.differenceMissed ||= constant && contrastEvidence(groups, { ratio: 1, difference }) >= bound
}

function isMissed(total: { n: number; s: number }, rate: number): boolean {
  const { low, high } = rateInterval(total, alpha)
  return rate < low || rate > high
}

function isNaivelyTold(first: { n: number; s: number }, second: { n: number; s: number }): boolean {
  const pooled = (first.s + second.s) / (first.n + second.n)
  const se = Math.sqrt(pooled * (1 - pooled) * (1 / first.n + 1 / second.n))
  return se > 0 && Math.abs(first.s / first.n - second.s / second.n) / se > normalQuantile(1 - alpha / 2)
}

/** Returns the share of experiments whose interval of a 75th percentile missed the truth on any day. Values are exponential. */
export function quantileMissed(experiments: number, seed: number): number {
  const random = randomFrom(seed)
  const truth = -Math.log(0.25)
  let missed = 0
  for (let run = 0; run < experiments; run++) {
    const counts = new Map<number, number>()
    let isMissed = false
    for (let day = 0; day < 20; day++) {
      for (let value = 0; value < 40; value++) {
        const bin = Math.floor(-Math.log(1 - random()) * 100)
        counts.set(bin, (counts.get(bin) ?? 0) + 1)
      }
      const bins = [...counts]
        .sort(([left], [right]) => left - right)
        .map(([bin, count]): Bin => ({ from: bin / 100, to: (bin + 1) / 100, count }))
      const { low, high } = quantileInterval(bins, 0.75, alpha)
      isMissed ||= truth < low || truth > high
    }
    missed += isMissed ? 1 : 0
  }
  return missed / experiments
}

/** Returns the power and the error of a test of the planned size with one look. */
export function plannedTest(
  experiments: number,
  seed: number,
): { readonly power: number; readonly error: number; readonly visitors: number } {
  const random = randomFrom(seed)
  const plan = { baselineRate: 0.1, relativeEffect: 0.3, alpha, power: 0.8, shares: [0.5, 0.5] }
  const visitors = fixedHorizonVisitors(plan) ?? 0
  const drawn = (rate: number) => ({
    n: visitors / 2,
    s: Array.from({ length: visitors / 2 }, () => random() < rate).filter(Boolean).length,
  })
  const errorRate = (rate: number) =>
    Array.from({ length: experiments }, () => isNaivelyTold(drawn(0.1), drawn(rate))).filter(Boolean).length
  return { visitors, power: errorRate(0.13) / experiments, error: errorRate(0.1) / experiments }
}
