// Changes a page's weights for an experiment, each change with its observation. The experiment's variants keep together what
// they had together; variants of the page that are not its own keep theirs.
import { derivedUuid, type Json, type UnitOfWork } from "#core"
import type { Pages, StoredPage } from "../../pages/index.ts"
import type { StoredExperiment } from "../collections.ts"
import type { Ledger } from "../ledger.ts"

export interface WeightsDeps {
  readonly pages: Pages
  readonly ledger: Ledger
}

interface Change {
  readonly experiment: StoredExperiment
  readonly page: StoredPage
  /** By key of the page's variant. */
  readonly weights: Readonly<Record<string, number>>
  readonly judge: string
  readonly reason: string
  readonly variantKey?: string
  readonly details?: Record<string, Json>
}

/** Stages the weights and the observation; nothing where they are so already. Returns whether there was a change. */
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

/** Shares of what the experiment's variants have together, by key of the page's variant. */
export function sharedWeights({ variants }: StoredExperiment, page: StoredPage, shares: readonly number[]): Record<string, number> {
  const own = page.variants.filter(({ key }) => variants.some(({ page_variant }) => page_variant === key))
  const total = own.reduce((sum, { weight }) => sum + weight, 0) || own.length
  return Object.fromEntries(variants.map(({ page_variant }, place) => [page_variant, Number(((shares[place] ?? 0) * total).toFixed(6))]))
}

/** One variant gets all visitors of the page. */
export function allTo(page: StoredPage, key: string): Record<string, number> {
  const total = page.variants.reduce((sum, { weight }) => sum + weight, 0) || 1
  return Object.fromEntries(page.variants.map((variant) => [variant.key, variant.key === key ? total : 0]))
}

function weightsOf(variants: StoredPage["variants"]): Record<string, Json> {
  return Object.fromEntries(variants.map(({ key, weight }) => [key, weight]))
}
