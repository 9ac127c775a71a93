// Counts of events and their latencies. Latencies are counted in buckets, two per doubling, so counts of several nodes and
// minutes can be added. Pure.

export const outcomes = ["accepted", "rejected", "failed"] as const

/** In the order of `outcomes`. */
export type Counts = readonly [accepted: number, rejected: number, failed: number]

export const none: Counts = [0, 0, 0]

export interface MinuteCounts {
  counts: Counts
  /** Number of events per latency bucket. Latency is the time until the reply. */
  latencies: readonly number[]
}

/** The first bucket: up to a quarter of a millisecond. */
const minMs = 0.25
const perDoubling = 2
/** The last bucket: four minutes and more. */
const buckets = 41

export function bucketOf(ms: number): number {
  if (!(ms > minMs)) return 0
  return Math.min(buckets - 1, Math.ceil(perDoubling * Math.log2(ms / minMs)))
}

export const emptyMinute: MinuteCounts = { counts: none, latencies: Array.from({ length: buckets }, () => 0) }

export function sumOf(one: Counts, other: Counts): Counts {
  return [one[0] + other[0], one[1] + other[1], one[2] + other[2]]
}

export function addMinute(one: MinuteCounts, other: MinuteCounts): MinuteCounts {
  return { counts: sumOf(one.counts, other.counts), latencies: one.latencies.map((count, at) => count + (other.latencies[at] ?? 0)) }
}

/** Returns the latency in milliseconds at this share of events, within a fifth. Returns null without events. */
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

/**
 * Counts of one pipeline in a block of minutes, as text: the last minute with the sums, then each minute with events. A query for
 * hours over hundreds of pipelines reads only the sums. Pure.
 *
 *     7 12 1 0;3 4 0 0;7 8 1 0
 */
export const minutesPerBlock = 10

/** Counts by minute of the block. */
type Block = ReadonlyMap<number, Counts>

export function blockOf(minute: number): number {
  return Math.floor(minute / minutesPerBlock)
}

export function writeBlock(block: Block): string {
  const minutes = [...block].sort(([one], [other]) => one - other)
  const sum = minutes.reduce((all, [, counts]) => sumOf(all, counts), none)
  const last = minutes.at(-1)?.[0] ?? 0
  return [[last, sum] as const, ...minutes].map(([minute, counts]) => [minute, ...counts].join(" ")).join(";")
}

export function readBlock(text: string): Block {
  return new Map(text.split(";").slice(1).map(numbersOf))
}

/** Returns the last minute with events, and the sums. */
export function readSums(text: string): readonly [last: number, sums: Counts] {
  return numbersOf(text.slice(0, text.indexOf(";")))
}

function numbersOf(text: string): readonly [minute: number, counts: Counts] {
  const [minute = 0, accepted = 0, rejected = 0, failed = 0] = text.split(" ").map(Number)
  return [minute, [accepted, rejected, failed]]
}
