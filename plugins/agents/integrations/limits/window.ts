// A window that slides: calls are counted in tenths of it, and as many tenths as a window can touch, eleven, hold at most
// as many calls as the limit allows. So no window of that length, wherever it begins, has more.
export interface WindowLimit {
  readonly requests: number
  readonly per_seconds: number
}

/** Calls by tenth, numbered since the epoch; by what the limit is, so that a changed limit begins at none. */
export type SpentByWindow = Record<string, Record<string, number>>

const tenths = 10

/** Counts one call in each of the windows; or, where one is full, the time in milliseconds since the epoch at which it has room. */
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
    // A clock that was set back leaves tenths that are still to come.
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
