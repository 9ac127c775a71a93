// A dot with its interval for each variant, on one axis. A table beside it has the numbers.
import type { IntervalRow } from "../report/columns.ts"
import "./experiments.css"

interface IntervalsArgs {
  readonly label: string
  readonly rows: readonly IntervalRow[]
  readonly format: (value: number) => string
  /** Values always on the axis. */
  readonly from?: number
  readonly to?: number
}

export function Intervals({ label, rows, format, from, to }: IntervalsArgs) {
  const values = [...rows.flatMap(({ value, low, high }) => [value, low, high]), from, to].filter((one) => typeof one === "number")
  const [least, greatest] = [Math.min(...values), Math.max(...values)]
  if (rows.every(({ value }) => value === null)) return null
  const x = (value: number) => (greatest > least ? ((value - least) / (greatest - least)) * 96 + 2 : 50)
  return (
    <figure class="chart intervals">
      <figcaption>{label}</figcaption>
      <div aria-hidden="true">
        {rows.map(({ label: name, value, low, high }) => (
          <div key={name} class="interval">
            <span>{name}</span>
            <svg height="16" aria-hidden="true">
              <line class="grid" x1="2%" x2="98%" y1="8" y2="8" />
              {low !== null && high !== null && (
                <rect class="tone-one" x={`${x(low)}%`} y="6.5" width={`${Math.max(0, x(high) - x(low))}%`} height="3" />
              )}
              {value !== null && <circle class="tone-one" cx={`${x(value)}%`} cy="8" r="5" />}
            </svg>
          </div>
        ))}
        <div class="axis">
          <span>{format(least)}</span>
          <span>{format(greatest)}</span>
        </div>
      </div>
    </figure>
  )
}
