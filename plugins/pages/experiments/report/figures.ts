// Figures of the report, as SVG without a fixed size. Horizontal positions are percentages, so text has the same size on phones
// and on paper. Each figure has a title and a description; a table beside it has the numbers. Pure.
import { type Html, html, noHtml } from "#core"
import type { IntervalRow } from "./columns.ts"

export interface Described {
  /** Unique in the document. */
  readonly id: string
  readonly title: string
  /** Text alternative of the figure. */
  readonly description: string
}

export interface Axis {
  readonly format: (value: number) => string
  /** Values always in the figure. */
  readonly from?: number
  readonly to?: number
  /** A value with its own line, such as one half. */
  readonly mark?: number
}

const maxLabel = 28
const rowHeight = 48
const axisHeight = 28
/** Percent of the width left free on both sides, for labels of the axis. */
const margin = 6

/** Draws a dot with its interval for each row. */
export function intervalFigure(of: Described, rows: readonly IntervalRow[], { format, from, to, mark }: Axis): Html {
  const scale = scaleOf([...rows.flatMap(({ value, low, high }) => [value, low, high]), from, to, mark])
  const height = rows.length * rowHeight + axisHeight
  const x = (value: number) => percent(margin + scale.share(value) * (100 - 2 * margin))
  const ticks = scale.ticks.map(
    (tick) => html`<line class="grid" x1="${x(tick)}" x2="${x(tick)}" y1="0" y2="${height - axisHeight}"/>
<text class="tick" x="${x(tick)}" y="${height - 8}" text-anchor="middle">${format(tick)}</text>`,
  )
  const marked = mark === undefined ? noHtml : html`<line class="mark" x1="${x(mark)}" x2="${x(mark)}" y1="0" y2="${height - axisHeight}"/>`
  const bars = rows.map(({ label, value, low, high }, place) => {
    const top = place * rowHeight
    const y = top + 34
    const line = low === null || high === null ? noHtml : html`<line class="whisker" x1="${x(low)}" x2="${x(high)}" y1="${y}" y2="${y}"/>`
    const dot = value === null ? noHtml : html`<circle class="dot" cx="${x(value)}" cy="${y}" r="5"/>`
    return html`<text class="label" x="0" y="${top + 18}">${short(label)}</text>${line}${dot}`
  })
  return svg(of, height, html`${ticks}${marked}${bars}`)
}

export interface SequencePoint {
  readonly at: number
  readonly value: number
  readonly low: number
  readonly high: number
}

export interface Sequence {
  readonly label: string
  readonly points: readonly SequencePoint[]
}

const plotHeight = 220
/** Text is to the left of the plot. */
const plotLeft = 14

/** Draws a line with its band for each sequence. `formatAt` formats a place on the time axis. */
export function sequenceFigure(
  of: Described,
  sequences: readonly Sequence[],
  { format, formatAt }: { readonly format: (value: number) => string; readonly formatAt: (at: number) => string },
): Html {
  const all = sequences.flatMap(({ points }) => points)
  const scale = scaleOf([0, ...all.flatMap(({ low, high }) => [low, high])])
  const [first, last] = [Math.min(...all.map(({ at }) => at)), Math.max(...all.map(({ at }) => at))]
  const px = (at: number) => number(last > first ? ((at - first) / (last - first)) * 1_000 : 500)
  const py = (value: number) => number((1 - scale.share(value)) * 1_000)
  const lines = sequences.map(({ points }, place) => {
    const band = [
      ...points.map(({ at, high }) => `${px(at)},${py(high)}`),
      ...[...points].reverse().map(({ at, low }) => `${px(at)},${py(low)}`),
    ]
    return html`<polygon class="band s${place % colours}" points="${band.join(" ")}"/>
<polyline class="line s${place % colours} d${place % dashes}" points="${points.map(({ at, value }) => `${px(at)},${py(value)}`).join(" ")}"/>`
  })
  const legendTop = plotHeight + axisHeight + 24
  const legend = sequences.map(({ label }, place) => {
    const y = legendTop + place * 22
    const line = html`<line class="line s${place % colours} d${place % dashes}" x1="0" x2="28" y1="${y}" y2="${y}"/>`
    return html`${line}<text class="label" x="36" y="${y + 5}">${short(label)}</text>`
  })
  const ticks = scale.ticks.map((tick) => {
    const y = number(10 + (1 - scale.share(tick)) * plotHeight)
    return html`<line class="grid" x1="${plotLeft}%" x2="100%" y1="${y}" y2="${y}"/>
<text class="tick" x="${plotLeft - 1}%" y="${y}" dy="4" text-anchor="end">${format(tick)}</text>`
  })
  const bottom = plotHeight + 10 + 18
  const plot = html`${ticks}
<svg x="${plotLeft}%" y="10" width="${100 - plotLeft}%" height="${plotHeight}" viewBox="0 0 1000 1000" preserveAspectRatio="none">${lines}</svg>
<text class="tick" x="${plotLeft}%" y="${bottom}">${formatAt(first)}</text>
<text class="tick" x="100%" y="${bottom}" text-anchor="end">${formatAt(last)}</text>`
  return svg(of, legendTop + sequences.length * 22, html`${plot}${legend}`)
}

export interface FunnelRow {
  readonly label: string
  readonly steps: readonly { readonly name: string; readonly count: number }[]
}

const stepHeight = 26

/** Draws each row's steps as bars, relative to the largest step. */
export function funnelFigure(of: Described, rows: readonly FunnelRow[]): Html {
  const most = Math.max(1, ...rows.flatMap(({ steps }) => steps.map(({ count }) => count)))
  let top = 0
  const parts = rows.map(({ label, steps }) => {
    const heading = html`<text class="label" x="0" y="${top + 18}">${short(label)}</text>`
    const bars = steps.map(({ name, count }, place) => {
      const y = top + 26 + place * stepHeight
      const width = percent((count / most) * 100)
      return html`<rect class="bar f${place % colours}" x="0" y="${y}" width="${width}" height="20" rx="2"/>
<text class="inbar" x="8" y="${y + 14}">${name}: ${count.toLocaleString("en-US")}</text>`
    })
    top += 26 + steps.length * stepHeight + 10
    return html`${heading}${bars}`
  })
  return svg(of, top, html`${parts}`)
}

/** Colours and dashes of the style sheet. Neighbours differ in both, for readers who cannot distinguish colours. */
const colours = 6
const dashes = 4

function svg({ id, title, description }: Described, height: number, content: Html): Html {
  return html`<svg class="figure" role="img" aria-labelledby="${id}-t ${id}-d" width="100%" height="${height}">
<title id="${id}-t">${title}</title>
<desc id="${id}-d">${description}</desc>
${content}
</svg>`
}

/** Shortens a label to fit 320 pixels. The table has the full text. */
function short(label: string): string {
  return label.length > maxLabel ? `${label.slice(0, maxLabel - 1)}…` : label
}

interface Scale {
  readonly ticks: readonly number[]
  /** Returns the position of a value between the first and the last tick, 0 to 1. */
  share(value: number): number
}

/** Returns a scale of four to six round numbers that covers all values. */
function scaleOf(values: readonly (number | null | undefined)[]): Scale {
  const numbers = values.filter((value): value is number => typeof value === "number" && Number.isFinite(value))
  const [low, high] = numbers.length === 0 ? [0, 1] : [Math.min(...numbers), Math.max(...numbers)]
  const span = high > low ? high - low : Math.abs(high) || 1
  const rough = span / 4
  const unit = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * unit).find((factor) => factor >= rough) ?? rough
  const first = Math.floor(low / step + 1e-9)
  const last = Math.max(first + 1, Math.ceil(high / step - 1e-9))
  const ticks = Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step)
  const [from, to] = [first * step, last * step]
  return { ticks, share: (value) => Math.min(1, Math.max(0, (value - from) / (to - from))) }
}

function percent(value: number): string {
  return `${number(value)}%`
}

function number(value: number): string {
  return String(Math.round(value * 100) / 100)
}
