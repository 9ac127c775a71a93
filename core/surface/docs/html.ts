// HTML as values: every value of a template is escaped, unless it is HTML of another template.

export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export function html(parts: TemplateStringsArray, ...values: readonly (string | number | Html)[]): Html {
  return new Html(parts.map((part, index) => part + (index < values.length ? shown(values[index] ?? "") : "")).join(""))
}

/** Text that is HTML already; never something a caller sent. */
export function raw(text: string): Html {
  return new Html(text)
}

export function join(parts: readonly Html[]): Html {
  return new Html(parts.map(({ text }) => text).join("\n"))
}

/** Paragraphs of text with `code` in backticks. */
export function prose(text: string): Html {
  const paragraphs = text.split(/\n{2,}/).map((paragraph) => {
    const pieces = paragraph.split(/`([^`]+)`/).map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`))
    return html`<p>${new Html(pieces.map((piece) => piece.text).join(""))}</p>`
  })
  return join(paragraphs)
}

function shown(value: string | number | Html): string {
  if (value instanceof Html) return value.text
  return String(value).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
