// Likely causes of a wrong sample ratio: variants that send no events or redirect, and kinds of visitors behind the deviation.
// Pure.
import type { ExperimentVariant } from "../collections.ts"
import type { LiveEvidence } from "./resource.ts"

type Cause = LiveEvidence["sample_ratio"]["causes"][number]

/** Visitors of a variant with this value. */
export interface Stratum {
  readonly dimension: "browser" | "device_type" | "in_app" | "engaged"
  readonly value: string
  readonly variant: number
  readonly visitors: number
}

export interface RatioSigns {
  readonly variants: readonly ExperimentVariant[]
  /** Counts per variant. */
  readonly visitors: readonly number[]
  readonly expected: readonly number[]
  readonly strata: readonly Stratum[]
  /** Per variant: sessions with a lead on the page, and those without a view. */
  readonly leads: readonly { readonly all: number; readonly withoutView: number }[]
  /** HTML of each variant; undefined if the page no longer has the variant. */
  readonly html: readonly (string | undefined)[]
}

/** Number of leads without a view that count as a sign. */
const minLeads = 5
/** Largest remaining deviation without a kind of visitors, if that kind is the cause. */
const maxRest = 0.25
/** A kind above this share of visitors is nearly all of them and explains no deviation. */
const maxKind = 0.9
const redirects = /http-equiv\s*=\s*["']?refresh|\blocation(?:\.href)?\s*=[^=]|\blocation\.(?:replace|assign)\s*\(/i

export function ratioCauses(signs: RatioSigns): Cause[] {
  const causes = [...lost(signs), ...kinds(signs)]
  if (causes.length > 0) return causes
  const [place, more] = furthest(signs.visitors, signs.expected)
  const message = `The variant has ${more > 0 ? "more" : "fewer"} visitors than its weight says, among all kinds of visitors alike.`
  return [{ cause: "unknown", variant_key: keyOf(signs, place), message }]
}

/** Finds variants that lose their own visitors. */
function lost(signs: RatioSigns): Cause[] {
  return signs.variants.flatMap(({ key }, place): Cause[] => {
    if ((signs.visitors[place] ?? 0) >= (signs.expected[place] ?? 0)) return []
    if (redirects.test(signs.html[place] ?? "")) {
      return [
        { cause: "redirect", variant_key: key, message: "The variant's page redirects, so that visitors leave before their view is told." },
      ]
    }
    const { all = 0, withoutView = 0 } = signs.leads[place] ?? {}
    if (withoutView >= minLeads && withoutView > all / 2) {
      const message = `${withoutView} of ${all} leads of the variant come from sessions without a page view: its beacon is blocked or fails.`
      return [{ cause: "no_beacon", variant_key: key, message }]
    }
    if (signs.visitors[place] !== 0) return []
    return [{ cause: "no_beacon", variant_key: key, message: "No page view of the variant arrives: its beacon is blocked or fails." }]
  })
}

const causeOf = { browser: "one_browser", device_type: "one_device", in_app: "in_app", engaged: "bots" } as const

/** Finds kinds of visitors behind the deviation: without them the ratio is about right. */
function kinds(signs: RatioSigns): Cause[] {
  const shares = sharesOf(signs.expected)
  const all = deviation(signs.visitors, shares)
  const everybody = signs.visitors.reduce((sum, count) => sum + count, 0)
  const byKind = Map.groupBy(signs.strata, ({ dimension, value }) => `${dimension} ${value}`)
  const causes = [...byKind.values()].flatMap((strata) => {
    const [first] = strata
    if (!first || (first.dimension === "engaged" && first.value === "true") || (first.dimension === "in_app" && first.value === ""))
      return []
    const own = signs.visitors.map((_, place) => strata.reduce((sum, { variant, visitors }) => sum + (variant === place ? visitors : 0), 0))
    const remainder = deviation(
      signs.visitors.map((visitors, place) => visitors - (own[place] ?? 0)),
      shares,
    )
    const total = own.reduce((sum, count) => sum + count, 0)
    if (total > maxKind * everybody || remainder > maxRest * all || deviation(own, shares) < remainder) return []
    const [place, more] = furthest(
      own,
      shares.map((share) => share * total),
    )
    const message = `${describeStratum(first)} has ${more > 0 ? "too many" : "too few"} of its visitors in the variant; without it the ratio is as expected.`
    return [{ rest: remainder, cause: { cause: causeOf[first.dimension], variant_key: keyOf(signs, place), message } }]
  })
  return causes.sort((left, right) => left.rest - right.rest).map(({ cause }) => cause)
}

function describeStratum({ dimension, value }: Stratum): string {
  if (dimension === "engaged") return "Traffic that does nothing but view the page, as bots do,"
  if (dimension === "in_app") return `The in-app browser ${value}`
  return `The ${dimension === "browser" ? "browser" : "device type"} "${value}"`
}

function keyOf({ variants }: RatioSigns, place: number): string {
  return variants[place]?.key ?? ""
}

function sharesOf(expected: readonly number[]): number[] {
  const total = expected.reduce((sum, value) => sum + value, 0)
  return expected.map((value) => (total > 0 ? value / total : 0))
}

/** Pearson's statistic per visitor, so samples of different sizes are comparable. */
function deviation(counts: readonly number[], shares: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const sum = counts.reduce((all, count, place) => {
    const expected = (shares[place] ?? 0) * total
    return expected > 0 ? all + (count - expected) ** 2 / expected : all
  }, 0)
  return total > 0 ? sum / total : 0
}

/** Returns the place with the largest deviation, and the deviation. */
function furthest(counts: readonly number[], expected: readonly number[]): [place: number, more: number] {
  const differences = counts.map((count, place) => count - (expected[place] ?? 0))
  const place = differences.reduce((far, difference, at) => (Math.abs(difference) > Math.abs(differences[far] ?? 0) ? at : far), 0)
  return [place, differences[place] ?? 0]
}
