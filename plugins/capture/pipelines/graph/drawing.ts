// Draws a compiled pipeline as a self-contained SVG without scripts and links. Colours follow the reader's light or dark setting.
// Each part has a title for screen readers. Pure.
import { type Html, html, noHtml } from "#core"
import type { Step } from "#core/engine"
import type { StepCounts } from "./counts.ts"
import { type Edge, eventNode, type Layout, type Placed, replyNode } from "./layout.ts"

const boxWidth = 216
const boxHeight = 64
const gapX = 24
const gapY = 32
const edge = 8
/** Maximum letters in a box. */
const maxLetters = 26

const style = `text{font:13px system-ui,sans-serif;fill:#1c2430}.type,.counts{font-size:11px;fill:#4f5b6b}.bad{fill:#b3261e}
rect{fill:#fff;stroke:#8793a3}.end rect{fill:#eef1f5}.handler rect{stroke-dasharray:4 3}path{fill:none;stroke:#8793a3;stroke-width:1.5}
.failure{stroke:#b3261e;stroke-dasharray:5 4}.head{fill:#8793a3;stroke:none}.head-bad{fill:#b3261e;stroke:none}
@media (prefers-color-scheme:dark){text{fill:#e6eaf0}.type,.counts{fill:#a9b4c2}.bad{fill:#ff8a80}rect{fill:#1b222c}.end rect{fill:#262f3b}
.failure{stroke:#ff8a80}.head-bad{fill:#ff8a80}}`

export interface DrawingArgs {
  readonly name: string
  readonly layout: Layout
  readonly counts: ReadonlyMap<string, StepCounts>
  /** Number of counted events. */
  readonly events: number
}

export function drawGraph({ name, layout, counts, events }: DrawingArgs): string {
  const width = layout.columns * (boxWidth + gapX) - gapX + 2 * edge
  const height = layout.layers * (boxHeight + gapY) - gapY + 2 * edge
  const places = new Map(layout.nodes.map((one) => [one.node, one]))
  const lines = layout.edges.map((one) => line(one, places))
  const boxes = layout.nodes.map((one) => box(one, counts.get(one.node)))
  return html`<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title about" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title id="title">${name}</title>
<desc id="about">${described(layout, counts, events)}</desc>
<style>${style}</style>
<defs>${arrow("head")}${arrow("head-bad")}</defs>
${lines}
${boxes}
</svg>`.text
}

function arrow(id: string): Html {
  return html`<marker id="${id}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="${id}" d="M0 0L8 4L0 8z"/></marker>`
}

const x = ({ column }: Placed) => edge + column * (boxWidth + gapX)
const y = ({ layer }: Placed) => edge + layer * (boxHeight + gapY)

function line({ from, to, isFailure }: Edge, places: ReadonlyMap<string, Placed>): Html {
  const [start, end] = [places.get(from), places.get(to)]
  if (!start || !end) return noHtml
  const path = isFailure && start.layer === end.layer ? sideways(start, end) : downwards(start, end)
  return html`<path class="${isFailure ? "failure" : "line"}" d="${path}" marker-end="url(#${isFailure ? "head-bad" : "head"})"><title>${from} ${isFailure ? "fails" : "then"} ${to}</title></path>`
}

function downwards(from: Placed, to: Placed): string {
  const [x1, y1, x2, y2] = [x(from) + boxWidth / 2, y(from) + boxHeight, x(to) + boxWidth / 2, y(to)]
  const half = gapY / 2
  // Bend the line to the left of boxes in the layers between.
  const isFar = to.layer - from.layer > 1 && x1 === x2
  if (isFar) return `M${x1} ${y1}C${x1 - boxWidth / 2 - 8} ${y1 + half} ${x1 - boxWidth / 2 - 8} ${y2 - half} ${x2} ${y2}`
  return `M${x1} ${y1}C${x1} ${y1 + half} ${x2} ${y2 - half} ${x2} ${y2}`
}

function sideways(from: Placed, to: Placed): string {
  const middle = y(from) + boxHeight / 2
  return from.column < to.column ? `M${x(from) + boxWidth} ${middle}H${x(to)}` : `M${x(from)} ${middle}H${x(to) + boxWidth}`
}

function box(placed: Placed, counts: StepCounts | undefined): Html {
  const { node, step } = placed
  const at = html`x="${x(placed)}" y="${y(placed)}" width="${boxWidth}" height="${boxHeight}"`
  const text = (dy: number, kind: string, words: string) =>
    html`<text class="${kind}" x="${x(placed) + 12}" y="${y(placed) + dy}">${words}</text>`
  if (!step) {
    const words = node === eventNode ? "event" : "commit and reply"
    return html`<g class="end"><title>${words}</title><rect ${at} rx="32"/><text text-anchor="middle" x="${x(placed) + boxWidth / 2}" y="${y(placed) + 37}">${words}</text></g>`
  }
  const kind = counts && counts.failed > 0 ? "counts bad" : "counts"
  return html`<g class="${isHandler(step) ? "handler" : "step"}"><title>${told(step, counts)}</title><rect ${at} rx="6"/>
${text(20, "name", short(step.id))}${text(37, "type", short([step.action.type, ...marks(step)].join(", "), 34))}${text(54, kind, short(countsText(counts), 34))}</g>`
}

/** Handlers come after the steps in the list, and run after a step fails. */
function isHandler({ pointer }: Step): boolean {
  return pointer.startsWith("/handlers/")
}

function marks({ when, forEach, gated }: Step): string[] {
  return [...(when ? ["conditional"] : []), ...(forEach ? ["for each"] : []), ...(gated ? ["approved"] : [])]
}

function countsText(counts: StepCounts | undefined): string {
  const named = Object.entries(counts ?? {}).filter(([, count]) => count > 0)
  return named.length === 0 ? "not run" : named.map(([state, count]) => `${count.toLocaleString("en-US")} ${state}`).join(", ")
}

function told(step: Step, counts: StepCounts | undefined): string {
  return `${step.id}: ${[step.action.type, ...marks(step), countsText(counts)].join(", ")}`
}

function described({ nodes }: Layout, counts: ReadonlyMap<string, StepCounts>, events: number): string {
  const isLater = ({ step }: Placed) => step?.deferred === true
  const list = (some: readonly Placed[]) => some.flatMap(({ step }) => (step ? [told(step, counts.get(step.id))] : [])).join("; ")
  const steps = nodes.filter(({ node }) => node !== eventNode && node !== replyNode)
  const parts = [
    `Of the newest ${events.toLocaleString("en-US")} events.`,
    `Before the reply: ${list(steps.filter((one) => !isLater(one))) || "nothing"}.`,
    `After it: ${list(steps.filter(isLater)) || "nothing"}.`,
  ]
  return parts.join(" ")
}

function short(text: string, most = maxLetters): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}
