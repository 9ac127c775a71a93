// Changes a page's weights for an experiment, each change with its observation. The total weight of the experiment's variants
// stays the same. Other variants of the page keep their weights.
import { derivedUuid, type Json, type UnitOfWork } from "#core"
import type { Pages, StoredPage, WeightChange } from "../../pages/index.ts"
import type { ExperimentVariant, StoredExperiment } from "../collections.ts"
import type { Ledger } from "../ledger.ts"

export interface WeightsDeps {
  readonly pages: Pages
  readonly ledger: Ledger
}

interface Change {
  readonly experiment: StoredExperiment
  readonly page: StoredPage
  /** Weights by page variant key. */
  readonly weights: Readonly<Record<string, number>>
  readonly judge: string
  readonly reason: string
  readonly variantKey?: string
  readonly details?: Record<string, Json>
}

/** Stages the weights and the observation. Returns false without staging if the weights are already the same. */
export function changeWeights({ pages, ledger }: WeightsDeps, work: UnitOfWork, organization: string, change: Change): boolean {
  const { experiment, page, weights } = change
  const variants = page.variants.map((variant) => ({ ...variant, weight: weights[variant.key] ?? variant.weight }))
  if (variants.every(({ weight }, place) => weight === page.variants[place]?.weight)) return false
  const before = weightsOf(page.variants)
  const { revision } = pages.update(work, organization, page, { variants })
  ledger.add(work, organization, experiment, {
    id: derivedUuid("weights", experiment.id, page.id, String(revision)),
    kind: "live",
    judge_slug: change.judge,
    variant_key: change.variantKey ?? "",
    reason: change.reason,
    details: { ...change.details, page_revision: revision, before, after: weightsOf(variants) },
  })
  return true
}

/** Returns weights by page variant key: the shares of the experiment's total weight. */
export function sharedWeights({ variants }: StoredExperiment, page: StoredPage, shares: readonly number[]): Record<string, number> {
  const own = page.variants.filter(({ key }) => variants.some(({ page_variant }) => page_variant === key))
  const total = own.reduce((sum, { weight }) => sum + weight, 0) || own.length
  return Object.fromEntries(variants.map(({ page_variant }, place) => [page_variant, Number(((shares[place] ?? 0) * total).toFixed(6))]))
}

/** Returns weights that send all visitors of the page to one variant. */
export function allTo(page: StoredPage, key: string): Record<string, number> {
  const total = page.variants.reduce((sum, { weight }) => sum + weight, 0) || 1
  return Object.fromEntries(page.variants.map((variant) => [variant.key, variant.key === key ? total : 0]))
}

function weightsOf(variants: StoredPage["variants"]): Record<string, Json> {
  return Object.fromEntries(variants.map(({ key, weight }) => [key, weight]))
}

// Periods of constant weights, with each variant's intended share of the experiment's visitors. Other variants of the page are
// left out. Pure.

export interface WeightSegment {
  /** Milliseconds since the epoch. */
  readonly from: number
  /** In order of the experiment's variants; all 0 if every weight is 0. */
  readonly shares: readonly number[]
}

/** `changes`: oldest first. `now`: the page's current weights. */
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

function same(first: readonly number[], second: readonly number[]): boolean {
  return first.every((share, place) => Math.abs(share - (second[place] ?? 0)) < 1e-9)
}
