// Latency at a tenth, half and nine tenths of the maximum rate, from the median to the maximum, compared with a flush of the
// disk. Goal at half load: a p99 of at most two flushes' p99 plus 2 ms.
import { Contest, type Contestant } from "../contest.ts"
import type { Load } from "../load/load.ts"
import { type BenchOptions, isSelected } from "../options.ts"
import { median, type Row, rowOf } from "../table.ts"

const shares = { tenth: 0.1, half: 0.5, "nine-tenths": 0.9 } as const
const quantiles = ["p50", "p90", "p99", "p999", "max"] as const

export function wantsTail(options: BenchOptions): boolean {
  return Object.keys(shares).some((share) => isSelected(options, rowOfShare(share)))
}

function rowOfShare(share: string): string {
  return `inbound/full/tail/${share}`
}

/** `capacity`: maximum answered events per second. */
export async function* tailRows(options: BenchOptions, load: Load, contestant: Contestant, capacity: number): AsyncGenerator<Row> {
  const { note, seconds, runs = 3, machine } = options
  for (const [share, part] of Object.entries(shares)) {
    const name = rowOfShare(share)
    if (!isSelected(options, name) || capacity === 0) continue
    const perSecond = capacity * part
    note(`${name}: ${Math.round(perSecond)} events/s`)
    const measured = await new Contest(load, [contestant]).runs({ connections: 64, seconds, runs: Math.min(3, runs), perSecond })
    const all = quantiles.map((of) => `${of.replace("p999", "p99.9")} ${Math.round(median(measured(contestant.name, of)) * 10) / 10}`)
    const detail = `${all.join(", ")} ms at ${Math.round(perSecond)} events/s; a flush: p50 ${machine.fsync_p50_ms} ms`
    yield rowOf(name, "ms p99", measured(contestant.name, "p99"), "a flush", [machine.fsync_p99_ms], detail)
  }
}
