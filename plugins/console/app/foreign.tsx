// Text from outside, inline or as a paragraph. Its direction is isolated from the surrounding text.
import type { ComponentChildren } from "preact"

// Overrides and embeddings change the direction of later letters. Joiners of letters and emoji, and direction marks, are
// harmless.
const turning = /[\u202a-\u202e\u2066-\u2069]|(?![\n\t])\p{Cc}/gu

/** Replaces direction overrides and control characters with their codes. */
export function escapeBidi(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(turning, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

interface ForeignArgs {
  readonly text: string
  /** Shown for an empty text. */
  readonly otherwise?: ComponentChildren
  /** Preserves line breaks. */
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
