// A row of the benchmark table: our figure, the peer's, and the ratio of the medians.

export interface Row {
  readonly name: string
  readonly ours: number
  readonly peer: number
  readonly peer_name: string
  readonly ratio: number
  readonly unit: string
  /** Lowest and highest of our runs, for the spread. */
  readonly ours_range: readonly [number, number]
  readonly note: string
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
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
    ours_range: [round(Math.min(...ours)), round(Math.max(...ours))],
    note,
  }
}

function round(value: number): number {
  return value >= 100 ? Math.round(value) : Math.round(value * 100) / 100
}

export function printTable(rows: readonly Row[]): void {
  const cells = rows.map((row) => [
    row.name,
    String(row.ours),
    `${row.ours_range[0]}–${row.ours_range[1]}`,
    `${row.peer} (${row.peer_name})`,
    row.ratio.toFixed(2),
    row.unit,
    row.note,
  ])
  const widths = cells.reduce<number[]>((most, cell) => cell.map((text, column) => Math.max(most[column] ?? 0, text.length)), [])
  for (const cell of cells) console.log(cell.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  "))
}
