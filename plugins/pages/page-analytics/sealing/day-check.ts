// Compares row counts of the copy with the store by day, and reseals days with a difference. The count also reveals changes
// without a note: a bulk removal by retention, or a commit after a hang of minutes.
import { type Clock, timestamp } from "#core"
import type { Dataset, Datasets } from "../../../data/datasets/index.ts"
import type { Copy, Segment } from "../collections.ts"
import type { CopyStore } from "./copy-store.ts"
import { dayRange, type Sealer } from "./sealer.ts"

const dayMs = 86_400_000
/** Days counted in every check; replays reach back seven days. */
const recentDays = 9
/** Older days per check, in turn. */
const olderEach = 20
/** A day is counted this long after its end. */
const settledMs = 600_000

export class DayCheck {
  readonly #deps: { readonly datasets: Datasets; readonly clock: Clock; readonly keepDays: number }
  #turn = 0

  constructor(deps: { readonly datasets: Datasets; readonly clock: Clock; readonly keepDays: number }) {
    this.#deps = deps
  }

  /** Returns the resealed days. */
  async run(copies: CopyStore, sealer: Sealer, copy: Copy, dataset: Dataset): Promise<string[]> {
    const { clock, datasets, keepDays } = this.#deps
    const now = clock.now()
    const oldest = timestamp(now - keepDays * dayMs).slice(0, 10)
    const segments = await copies.segments(copy)
    let current = copy
    const expired = segments.filter(({ day }) => day < oldest)
    if (expired.length > 0) current = await copies.change(current, { add: [], replace: expired, because: "retention", set: {} })
    const counted = countByDay(segments)
    const resealed: string[] = []
    for (const day of this.#daysToCount([...counted.keys()], now, oldest)) {
      const stored = await datasets
        .rows(copies.organization)
        .count({ dataset_id: dataset.id, created_at: dayRange(day) }, { deadlineMs: 60_000 })
      if (stored === (counted.get(day) ?? 0)) continue
      await sealer.resealDay(current, dataset, day)
      resealed.push(day)
      current = (await copies.copies()).live ?? current
    }
    return resealed
  }

  #daysToCount(sealedDays: readonly string[], now: number, oldest: string): string[] {
    const settledDay = timestamp(now - settledMs - dayMs).slice(0, 10)
    const recent = Array.from({ length: recentDays }, (_, back) => timestamp(now - (back + 1) * dayMs).slice(0, 10))
    const older = sealedDays.filter((day) => !recent.includes(day)).sort()
    const first = this.#turn < older.length ? this.#turn : 0
    this.#turn = first + olderEach
    return [...recent, ...older.slice(first, first + olderEach)].filter((day) => day <= settledDay && day >= oldest)
  }
}

function countByDay(segments: readonly Segment[]): Map<string, number> {
  const counted = new Map<string, number>()
  for (const { day, rows } of segments) counted.set(day, (counted.get(day) ?? 0) + rows)
  return counted
}
