// The descriptions that operations declare, as HTML.
import { Html, html } from "../../kernel/html.ts"

/** Paragraphs of text with `code` in backticks. */
export function prose(text: string): Html {
  const paragraphs = text.split(/\n{2,}/).map((paragraph) => {
    const pieces = paragraph.split(/`([^`]+)`/).map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`))
    return html`<p>${new Html(pieces.map((piece) => piece.text).join(""))}</p>`
  })
  return html`${paragraphs}`
}
