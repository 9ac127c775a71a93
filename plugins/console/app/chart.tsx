// Small charts as SVG, each with its data as a table for screen readers.
import { escapeBidi } from "./foreign.tsx"
import { formatNumber } from "./show.tsx"

export interface Series {
  readonly name: string
  readonly values: readonly number[]
  readonly tone?: "one" | "two" | "three" | "bad"
}

interface ChartArgs {
  readonly label: string
  /** Label below each value. */
  readonly names: readonly string[]
  readonly series: readonly Series[]
  readonly kind?: "lines" | "bars" | "stacked"
  readonly format?: (value: number) => string
  /** Pixels. */
  readonly height?: number
}

const width = 640
const maxBar = 72
const tones = ["one", "two", "three", "bad"] as const
const toneOf = ({ tone }: Series, index: number) => tone ?? tones[index % tones.length]

export function Chart({ label, names, series, kind = "lines", format = formatNumber, height = 160 }: ChartArgs) {
  const sums = names.map((_name, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0))
  const top = ceilingOf(Math.max(0, ...(kind === "stacked" ? sums : series.flatMap(({ values }) => values))))
  const y = (value: number) => height - (value / top) * height
  const step = width / Math.max(1, names.length)
  return (
    <figure class="chart">
      <figcaption>
        <span>{escapeBidi(label)}</span>
        {series.length > 1 && (
          <span class="legend">
            {series.map((entry, index) => (
              <span key={entry.name} class={`tone-${toneOf(entry, index)}`}>
                {escapeBidi(entry.name)}
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height + 2}`} preserveAspectRatio="none" height={height} aria-hidden="true">
        {[0, 0.5, 1].map((part) => (
          <line key={part} class="grid" x1="0" x2={width} y1={y(top * part) + 1} y2={y(top * part) + 1} />
        ))}
        {kind === "lines" && names.length > 1
          ? series.map((entry, index) => (
              <polyline
                key={entry.name}
                class={`tone-${toneOf(entry, index)}`}
                points={entry.values.map((value, at) => `${(at + 0.5) * step},${y(value) + 1}`).join(" ")}
              />
            ))
          : bars({ series, names, kind: kind === "stacked" ? kind : "bars", step, y, height })}
      </svg>
      <div class="axis" aria-hidden="true">
        <span>{escapeBidi(names[0] ?? "")}</span>
        <span>{`0 to ${format(top)}`}</span>
        <span>{names.length > 1 ? escapeBidi(names.at(-1) ?? "") : ""}</span>
      </div>
      <Numbers label={label} names={names} series={series} format={format} />
    </figure>
  )
}

interface BarsArgs {
  readonly series: readonly Series[]
  readonly names: readonly string[]
  readonly kind: "bars" | "stacked"
  readonly step: number
  readonly y: (value: number) => number
  readonly height: number
}

function bars({ series, names, kind, step, y, height }: BarsArgs) {
  const gap = Math.min(4, step * 0.2)
  const barWidth = Math.min(maxBar, kind === "stacked" ? step - gap : (step - gap) / series.length)
  const offset = (step - barWidth * (kind === "stacked" ? 1 : series.length)) / 2
  return names.flatMap((name, at) => {
    let below = 0
    return series.map((entry, index) => {
      const value = entry.values[at] ?? 0
      const from = kind === "stacked" ? below : 0
      below += value
      const x = at * step + offset + (kind === "stacked" ? 0 : index * barWidth)
      const barHeight = Math.max(value > 0 ? 1 : 0, height - y(value))
      return (
        <rect
          key={`${name} ${entry.name}`}
          class={`tone-${toneOf(entry, index)}`}
          x={x}
          y={y(from) + 1 - barHeight}
          width={barWidth}
          height={barHeight}
        />
      )
    })
  })
}

function Numbers({ label, names, series, format }: Required<Pick<ChartArgs, "label" | "names" | "series" | "format">>) {
  return (
    <details class="numbers">
      <summary>Numbers</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard */}
      <section class="scroll" tabIndex={0} aria-label={`Numbers of ${label}`}>
        <table>
          <thead>
            <tr>
              <td />
              {series.map(({ name }) => (
                <th key={name} scope="col" class="number">
                  {escapeBidi(name)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((name, at) => (
              <tr key={name}>
                <th scope="row">{escapeBidi(name)}</th>
                {series.map((entry) => (
                  <td key={entry.name} class="number">
                    {format(entry.values[at] ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  )
}

/** The next 1, 2 or 5 times a power of ten. */
function ceilingOf(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return power * ([1, 2, 5, 10].find((factor) => value <= factor * power) ?? 10)
}
