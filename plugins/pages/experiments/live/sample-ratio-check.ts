// Checks the sample ratio day by day and records the strongest evidence against the weights. Pure.

import { ratioEvidence } from "../statistics/sample-ratio.ts"
import { type Cell, cellsByDay } from "./counts.ts"
import type { WeightSegment } from "./page-weights.ts"

export interface RatioDay {
  readonly day: number
  /** Inverse of the strongest evidence up to this day. */
  readonly pValue: number
}

export interface RatioCheck {
  readonly days: readonly RatioDay[]
  readonly pValue: number
  /** Visitors in periods with a weight for the variant, and their expected number. */
  readonly variants: readonly { readonly visitors: number; readonly expected: number }[]
}

export function checkRatio(cells: readonly Cell[], segments: readonly WeightSegment[], variantCount: number): RatioCheck {
  const counted = segments.map(({ shares }) => ({ shares, counts: Array.from({ length: variantCount }, () => 0) }))
  let strongest = 0
  const days = cellsByDay(cells).map(({ day, cells: ofDay }) => {
    for (const { segment, variant, visitors } of ofDay) {
      const counts = counted[segment]?.counts
      if (counts && variant < variantCount) counts[variant] = (counts[variant] ?? 0) + visitors
    }
    strongest = Math.max(strongest, ratioEvidence(counted))
    return { day, pValue: Math.exp(-strongest) }
  })
  const variants = Array.from({ length: variantCount }, (_, place) => ({ visitors: 0, expected: 0, place }))
  for (const { shares, counts } of counted) {
    const total = counts.reduce((sum, count, place) => sum + ((shares[place] ?? 0) > 0 ? count : 0), 0)
    for (const variant of variants) {
      const share = shares[variant.place] ?? 0
      variant.visitors += share > 0 ? (counts[variant.place] ?? 0) : 0
      variant.expected += share * total
    }
  }
  return { days, pValue: Math.exp(-strongest), variants: variants.map(({ visitors, expected }) => ({ visitors, expected })) }
}
