// Counts of an experiment's visitors, and the comparison of two variants. Pure.
import type { ContrastGroup } from "../statistics/contrast.ts"
import type { WeightSegment } from "./page-weights.ts"

/** Visitors of a variant with their first view on this day and in this period of constant weights. Places count from 0. */
export interface Cell {
  readonly day: number
  readonly segment: number
  readonly variant: number
  readonly visitors: number
  readonly conversions: number
  /** Visitors with at least one event of this kind. */
  readonly rage_clicks: number
  readonly scroll_bails: number
  readonly form_abandons: number
}

export type CountedEvent = "conversions" | "rage_clicks" | "scroll_bails" | "form_abandons"

/** Number of values of a web vital in one bin. */
export interface VitalBin {
  readonly metric: string
  readonly variant: number
  readonly from: number
  readonly to: number
  readonly count: number
}

export interface LiveCounts {
  /** In order of days, then segments. */
  readonly cells: readonly Cell[]
  /** In order of their values. */
  readonly vitals: readonly VitalBin[]
}

export interface Period {
  /** Milliseconds since the epoch; undefined before the start. */
  readonly from: number | undefined
  /** Time of the decision or archiving; before it, the time of the counts. */
  readonly until: number
}

/** All counts of an experiment's visitors. */
export interface CountedVisitors {
  readonly period: Period
  readonly counts: LiveCounts
  /** Number of conversions without a session. */
  readonly unlinked: number
  readonly segments: readonly WeightSegment[]
  /** Current weights of the page, by the page's variants. */
  readonly weights: Readonly<Record<string, number>>
  readonly asOf: string | null
  readonly enabled: boolean
}

export const dayMs = 86_400_000

export function sumOf(cells: readonly Cell[], what: "visitors" | CountedEvent): number {
  return cells.reduce((sum, cell) => sum + cell[what], 0)
}

export function cellsByDay(cells: readonly Cell[]): { readonly day: number; readonly cells: readonly Cell[] }[] {
  const days = new Map<number, Cell[]>()
  for (const cell of cells) {
    const dayCells = days.get(cell.day)
    if (dayCells) dayCells.push(cell)
    else days.set(cell.day, [cell])
  }
  return [...days].map(([day, own]) => ({ day, cells: own }))
}

type Sums = { -readonly [side in "variant" | "control"]: { n: number; s: number } }

/**
 * Collects a variant and the control day by day. The expected rate is fixed before each day's visitors, as contrast.ts requires.
 */
export class Pair {
  readonly #segments: readonly WeightSegment[]
  readonly #variant: number
  readonly #control: number
  readonly #event: CountedEvent
  readonly #groups = new Map<string, ContrastGroup & Sums>()
  readonly #totals = { n: 0, s: 0 }
  #expected = 0
  #settledAt = 0

  constructor(segments: readonly WeightSegment[], variant: number, control: number, event: CountedEvent) {
    this.#segments = segments
    this.#variant = variant
    this.#control = control
    this.#event = event
  }

  get groups(): readonly ContrastGroup[] {
    return [...this.#groups.values()]
  }

  /** Adds all cells of the next day. */
  add(cells: readonly Cell[]): void {
    // Updated each time the number of visitors has doubled, so there are few groups.
    if (this.#totals.n > 0 && this.#totals.n >= 2 * this.#settledAt) {
      this.#settledAt = this.#totals.n
      this.#expected = this.#totals.s / this.#totals.n
    }
    for (const cell of cells) {
      const side = cell.variant === this.#variant ? "variant" : cell.variant === this.#control ? "control" : undefined
      if (side === undefined) continue
      const shares = this.#segments[cell.segment]?.shares ?? []
      const [share, controlShare] = [shares[this.#variant] ?? 0, shares[this.#control] ?? 0]
      // Counts only visitors with a chance of both variants.
      if (share <= 0 || controlShare <= 0) continue
      const group = this.#group(share / (share + controlShare))
      const s = Math.min(cell[this.#event], cell.visitors)
      group[side].n += cell.visitors
      group[side].s += s
      this.#totals.n += cell.visitors
      this.#totals.s += s
    }
  }

  #group(share: number): Sums {
    const key = `${share.toFixed(9)} ${this.#expected}`
    const group = this.#groups.get(key)
    if (group) return group
    const created = { share, expected: this.#expected, variant: { n: 0, s: 0 }, control: { n: 0, s: 0 } }
    this.#groups.set(key, created)
    return created
  }
}
