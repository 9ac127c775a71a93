// Times of constant weights: what each variant's share of the experiment's visitors was meant to be, and when. A page may have
// variants that are not the experiment's; shares are among those that are. Pure.
import type { WeightChange } from "../../pages/index.ts"
import type { ExperimentVariant } from "../collections.ts"

export interface WeightSegment {
  /** Milliseconds since the epoch. */
  readonly from: number
  /** In the order of the experiment's variants; all 0 where none of them has a weight. */
  readonly shares: readonly number[]
}

/** `changes`: oldest first. `now`: the weights that the page has now. */
export function weightSegments(
  variants: readonly ExperimentVariant[],
  {
    changes,
    now,
    startedAt,
  }: { changes: readonly Pick<WeightChange, "at" | "before" | "after">[]; now: Readonly<Record<string, number>>; startedAt: number },
): WeightSegment[] {
  const later = changes.filter(({ at }) => Date.parse(at) > startedAt)
  const first = later[0]?.before ?? now
  const all = [{ from: startedAt, weights: first }, ...later.map(({ at, after }) => ({ from: Date.parse(at), weights: after }))]
  const segments = all.map(({ from, weights }) => ({ from, shares: sharesOf(variants, weights) }))
  return segments.filter(({ shares }, place) => place === 0 || !same(shares, segments[place - 1]?.shares ?? []))
}

function sharesOf(variants: readonly ExperimentVariant[], weights: Readonly<Record<string, number>>): number[] {
  const own = variants.map(({ page_variant }) => weights[page_variant] ?? 0)
  const total = own.reduce((sum, weight) => sum + weight, 0)
  return own.map((weight) => (total > 0 ? weight / total : 0))
}

function same(one: readonly number[], other: readonly number[]): boolean {
  return one.every((share, place) => Math.abs(share - (other[place] ?? 0)) < 1e-9)
}
