// A row of the benchmark table: our figure, the peer's, and the ratio of the medians.

export interface Row {
  readonly name: string
  readonly ours: number
  readonly peer: number
  readonly peer_name: string
  readonly ratio: number
  readonly unit: string
  /** Lowest and highest of the runs. */
  readonly ours_range: readonly [number, number]
  readonly peer_range?: readonly [number, number]
  readonly note: string
}

/** For an even number of values, the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const [below, above] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return below === undefined || above === undefined ? Number.NaN : (below + above) / 2
}

export function rowOf(name: string, unit: string, ours: readonly number[], peerName: string, peer: readonly number[], note = ""): Row {
  const [a, b] = [median(ours), median(peer)]
  return {
    name,
    ours: round(a),
    peer: round(b),
    peer_name: peerName,
    ratio: Math.round((a / b) * 1_000) / 1_000,
    unit,
    ours_range: rangeOf(ours),
    peer_range: rangeOf(peer),
    note,
  }
}

function rangeOf(values: readonly number[]): readonly [number, number] {
  return [round(Math.min(...values)), round(Math.max(...values))]
}

function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 100) / 100
}

export const headings = ["row", "ours", "spread", "peer", "spread", "ratio", "unit", "notes"] as const

export function cellsOf({ name, ours, ours_range, peer, peer_name, peer_range, ratio, unit, note }: Row): string[] {
  return [name, String(ours), spread(ours_range), `${peer} (${peer_name})`, spread(peer_range), ratio.toFixed(2), unit, note]
}

export function printTable(rows: readonly Row[]): void {
  const cells = [[...headings], ...rows.map(cellsOf)]
  const widths = headings.map((_, column) => Math.max(...cells.map((cell) => cell[column]?.length ?? 0)))
  for (const cell of cells)
    console.log(
      cell
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
}

/** Empty for a single run. */
function spread(range: readonly [number, number] | undefined): string {
  return range === undefined || range[0] === range[1] ? "" : `${range[0]}–${range[1]}`
}
