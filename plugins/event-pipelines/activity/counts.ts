// The counts of one minute, and what they say of latencies. Times are counted in buckets, two for each doubling, so that counts
// of several nodes and minutes add up. Pure.

export const outcomes = ["accepted", "rejected", "failed"] as const

export interface MinuteCounts {
  /** Since the epoch. */
  minute: number
  accepted: number
  rejected: number
  failed: number
  /** Events by bucket of the time until their answer. */
  latencies: number[]
  /** By pipeline id, in the order of `outcomes`. */
  pipelines: Record<string, number[]>
}

/** A quarter of a millisecond and less is the first. */
const minMs = 0.25
const perDoubling = 2
/** The last holds four minutes and more. */
const buckets = 41

export function bucketOf(ms: number): number {
  if (!(ms > minMs)) return 0
  return Math.min(buckets - 1, Math.ceil(perDoubling * Math.log2(ms / minMs)))
}

export function emptyMinute(minute: number): MinuteCounts {
  return { minute, accepted: 0, rejected: 0, failed: 0, latencies: Array.from({ length: buckets }, () => 0), pipelines: {} }
}

/** Adds the second to the first, whose lists are its own. */
export function addMinute(to: MinuteCounts, from: MinuteCounts): MinuteCounts {
  for (const outcome of outcomes) to[outcome] += from[outcome]
  addList(to.latencies, from.latencies)
  for (const [id, counts] of Object.entries(from.pipelines)) {
    const own = to.pipelines[id]
    if (own) addList(own, counts)
    else to.pipelines[id] = [...counts]
  }
  return to
}

function addList(to: number[], from: readonly number[]): void {
  for (const [at, count] of from.entries()) to[at] = (to[at] ?? 0) + count
}

/** The time in milliseconds that this share of events did not exceed, within a fifth; null without events. */
export function latencyAt(latencies: readonly number[], share: number): number | null {
  const all = latencies.reduce((sum, count) => sum + count, 0)
  if (all === 0) return null
  let left = Math.max(1, Math.ceil(all * share))
  const bucket = latencies.findIndex((count) => {
    left -= count
    return left <= 0
  })
  const middle = minMs * 2 ** ((Math.max(bucket, 0) - 0.5) / perDoubling)
  return Number(middle.toPrecision(2))
}
