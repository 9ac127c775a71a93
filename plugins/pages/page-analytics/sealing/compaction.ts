// Chooses small segments to merge: eight of one day and similar size. So a row is rewritten only a few times, and a query opens
// few files. Pure.
import type { Segment } from "../collections.ts"

const together = 8
/** Segments up to this size belong to the smallest tier. */
const smallest = 1_000

/** Returns segments to merge into one, oldest day first; undefined if no merge is worthwhile. */
export function toMerge(segments: readonly Segment[], fullRows: number): Segment[] | undefined {
  const groups = new Map<string, Segment[]>()
  for (const segment of segments) {
    if (segment.rows >= fullRows / 2) continue
    const group = `${segment.day} ${tierOf(segment.rows)}`
    groups.set(group, [...(groups.get(group) ?? []), segment])
  }
  for (const [, group] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (group.length < together) continue
    return upTo(
      group.sort((a, b) => (a.first_at < b.first_at ? -1 : 1)),
      fullRows,
    )
  }
  return undefined
}

/** Merges all small segments of a past day into one. */
export function toFinish(segments: readonly Segment[], fullRows: number, today: string): Segment[] | undefined {
  const days = new Map<string, Segment[]>()
  for (const segment of segments) {
    if (segment.day >= today || segment.rows >= fullRows / 2) continue
    days.set(segment.day, [...(days.get(segment.day) ?? []), segment])
  }
  for (const day of days.values()) if (day.length > 1) return upTo(day, fullRows)
  return undefined
}

function upTo(segments: readonly Segment[], fullRows: number): Segment[] {
  const selected: Segment[] = []
  let rows = 0
  for (const segment of segments) {
    if (selected.length >= 2 && rows + segment.rows > fullRows) break
    selected.push(segment)
    rows += segment.rows
  }
  return selected
}

function tierOf(rows: number): number {
  return Math.max(0, Math.floor(Math.log(rows / smallest) / Math.log(together)))
}
