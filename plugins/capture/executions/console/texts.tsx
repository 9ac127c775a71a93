// Text from senders, shown as plain text: with a length bound, visible control characters and no markup.
import { useSignal } from "@preact/signals"
import { formatNumber, visible } from "#console"
import { type Line, linesOf } from "./differences.ts"

const maxShown = 8_000
const maxLines = 400
const maxLine = 1_000

export function Stranger({ label, text }: { readonly label: string; readonly text: string }) {
  const isWhole = useSignal(false)
  const shown = isWhole.value ? text : text.slice(0, maxShown)
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
      <section class="stranger" tabIndex={0} aria-label={label}>
        <pre dir="ltr">{visible(shown)}</pre>
      </section>
      {shown.length < text.length && (
        <button
          type="button"
          onClick={() => {
            isWhole.value = true
          }}
        >
          Show all {formatNumber(text.length)} characters
        </button>
      )}
    </>
  )
}

interface MarkedArgs {
  readonly label: string
  readonly value: unknown
  readonly beside: unknown
  /** Lines on this side only were removed by the transform (before) or added by it (after). */
  readonly side: "before" | "after"
}

/** A value with marked differences from the other side. Signs and colours mark them. */
export function Marked({ label, value, beside, side }: MarkedArgs) {
  const { lines, left } = linesOf(value, beside, maxLines)
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
      <section class="stranger lines-of" tabIndex={0} aria-label={label}>
        <pre dir="ltr">
          {lines.map((line, index) => (
            <MarkedLine key={index} line={line} side={side} />
          ))}
        </pre>
      </section>
      {left > 0 && <p class="about">{formatNumber(left)} more lines.</p>}
    </>
  )
}

function MarkedLine({ line: { text, mark }, side }: { readonly line: Line; readonly side: "before" | "after" }) {
  const shown = visible(text.length > maxLine ? `${text.slice(0, maxLine)}…` : text)
  if (mark === "same") return <span>{shown}</span>
  if (mark === "other") return <mark>{shown}</mark>
  return side === "before" ? <del>{shown}</del> : <ins>{shown}</ins>
}
