// Conversion of each variant and its difference to the control, now and by day. Pure.

import { differenceInterval, factorToDecision, ratioInterval, weightedRates } from "../statistics/contrast.ts"
import { rateInterval } from "../statistics/rate.ts"
import { type Cell, cellsByDay, Pair } from "./counts.ts"
import { finite } from "./guardrails.ts"
import type { WeightSegment } from "./page-weights.ts"
import type { LiveEvidence } from "./resource.ts"

type Point = LiveEvidence["series"][number]
type Seen = Pick<Point["variants"][number], "variant_key" | "visitors" | "conversions" | "rate" | "rate_low" | "rate_high">
type ToControl = NonNullable<LiveEvidence["variants"][number]["to_control"]>

export interface ConversionCounts {
  /** Keys of the variants, the control first. */
  readonly variants: readonly string[]
  readonly segments: readonly WeightSegment[]
  readonly cells: readonly Cell[]
}

export interface Conversion {
  readonly seen: Seen
  /** Undefined for the control. */
  readonly toControl: ToControl | undefined
  /**
   * Factor by which the number of visitors must grow for a decision; Infinity if no number suffices. Undefined for the control.
   */
  readonly factor: number | undefined
}

const maxPoints = 60

/** `alpha`: total probability of a wrong verdict, shared by all comparisons with the control. */
export function conversions({ variants, segments, cells }: ConversionCounts, alpha: number): Conversion[] {
  const days = cellsByDay(cells)
  return variants.map((key, place) => {
    const view = seenOf(key, place, cells, alpha)
    if (place === 0) return { seen: view, toControl: undefined, factor: undefined }
    const pair = new Pair(segments, place, 0, "conversions")
    for (const day of days) pair.add(day.cells)
    const level = alpha / (variants.length - 1)
    return { seen: view, toControl: toControl(pair, level), factor: factorToDecision(pair.groups, level) }
  })
}

/** Returns one point per day, or fewer for many days. The last day always has a point. */
export function conversionSeries(
  { variants, segments, cells }: ConversionCounts,
  alpha: number,
): { day: number; variants: Point["variants"] }[] {
  const days = cellsByDay(cells)
  const every = Math.ceil(days.length / maxPoints)
  const pairs = variants.map((_, place) => (place === 0 ? undefined : new Pair(segments, place, 0, "conversions")))
  const level = alpha / Math.max(1, variants.length - 1)
  const soFar: Cell[] = []
  return days.flatMap(({ day, cells: ofDay }, at) => {
    soFar.push(...ofDay)
    for (const pair of pairs) pair?.add(ofDay)
    if ((days.length - 1 - at) % every !== 0) return []
    return [
      { day, variants: variants.map((key, place) => ({ ...seenOf(key, place, soFar, alpha), ...differenceOf(pairs[place], level) })) },
    ]
  })
}

function seenOf(variant_key: string, place: number, cells: readonly Cell[], alpha: number): Seen {
  let [n, s] = [0, 0]
  for (const { variant, visitors, conversions } of cells) {
    if (variant !== place) continue
    n += visitors
    s += Math.min(conversions, visitors)
  }
  const { low, high } = rateInterval({ n, s }, alpha)
  return { variant_key, visitors: n, conversions: s, rate: n > 0 ? s / n : null, rate_low: low, rate_high: high }
}

function differenceOf(pair: Pair | undefined, alpha: number) {
  if (!pair) return { difference: null, difference_low: null, difference_high: null }
  const rates = weightedRates(pair.groups)
  const { low, high } = differenceInterval(pair.groups, alpha)
  return { difference: rates ? rates.variant - rates.control : null, difference_low: low, difference_high: high }
}

function toControl(pair: Pair, alpha: number): ToControl {
  const { groups } = pair
  const rates = weightedRates(groups)
  const { low, high } = differenceInterval(groups, alpha)
  const lift = ratioInterval(groups, alpha)
  return {
    difference: rates ? rates.variant - rates.control : null,
    difference_low: low,
    difference_high: high,
    lift: rates && rates.control > 0 ? rates.variant / rates.control - 1 : null,
    lift_low: lift.low - 1,
    lift_high: finite(lift.high - 1),
    verdict: low > 0 ? "better" : high < 0 ? "worse" : "cannot_tell",
  }
}
