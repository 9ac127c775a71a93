// What people outside wrote, within a sentence or as a paragraph: text of its own direction, which turns nothing beside it.
import type { ComponentChildren } from "preact"

// Overrides and embeddings turn the letters after them; what joins letters and emoji, and marks of direction, stay.
const turning = /[\u202a-\u202e\u2066-\u2069]|(?![\n\t])\p{Cc}/gu

/** Without signs that would turn what stands beside them: they are shown by their code. */
export function escapeBidi(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(turning, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

interface ForeignArgs {
  readonly text: string
  /** Shown in place of an empty text. */
  readonly otherwise?: ComponentChildren
  /** With its own lines. */
  readonly isParagraph?: boolean
}

export function UntrustedText({ text, otherwise = "", isParagraph = false }: ForeignArgs) {
  if (text === "") return <>{otherwise}</>
  const escaped = escapeBidi(text)
  return isParagraph ? (
    <p class="foreign" dir="auto">
      {escaped}
    </p>
  ) : (
    <bdi>{escaped}</bdi>
  )
}
