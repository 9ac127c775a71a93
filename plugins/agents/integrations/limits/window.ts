// A sliding window. Calls are counted by tenths of the window. A window touches at most eleven tenths, and these contain at most
// the limit. Every window of this length therefore stays within the limit.
export interface WindowLimit {
  readonly requests: number
  readonly per_seconds: number
}

/** Calls by tenth, numbered since the epoch. Keyed by the limit's values, so a changed limit starts at zero. */
export type SpentByWindow = Record<string, Record<string, number>>

const tenths = 10

/** Counts a call in each window. If a window is full, returns the time of free capacity, in milliseconds since the epoch. */
export function spend(
  limits: readonly WindowLimit[],
  before: SpentByWindow,
  now: number,
): { readonly spent: SpentByWindow } | { readonly full: WindowLimit; readonly roomAt: number } {
  const spent: SpentByWindow = {}
  for (const limit of limits) {
    const name = `${limit.requests} in ${limit.per_seconds} s`
    const width = (limit.per_seconds * 1_000) / tenths
    const current = Math.floor(now / width)
    // After a clock setback, stored tenths may have a future time.
    const earlier = Object.entries(before[name] ?? {})
      .map(([tenth, count]) => [Number(tenth), count] as const)
      .filter(([tenth]) => Math.abs(current - tenth) <= tenths)
      .sort(([a], [b]) => a - b)
    let excess = earlier.reduce((sum, [, count]) => sum + count, 0) - limit.requests
    for (const [tenth, count] of earlier) {
      if (excess < 0) break
      excess -= count
      if (excess < 0) return { full: limit, roomAt: Math.ceil((tenth + tenths + 1) * width) }
    }
    const counts = Object.fromEntries(earlier)
    spent[name] = { ...counts, [current]: (counts[current] ?? 0) + 1 }
  }
  return { spent }
}
