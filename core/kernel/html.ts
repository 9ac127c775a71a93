// HTML as values: every value of a template is escaped, unless it is HTML of another template.

/** Text that is HTML already; never something that somebody sent. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** What an empty place of a template is filled with. */
export const noHtml = new Html("")

type Shown = string | number | Html | readonly Html[]

/** A template of HTML, in which values are escaped. */
export function html(parts: TemplateStringsArray, ...values: readonly Shown[]): Html {
  return new Html(parts.map((part, index) => part + (index < values.length ? shown(values[index] ?? "") : "")).join(""))
}

function shown(value: Shown): string {
  if (value instanceof Html) return value.text
  if (typeof value === "object") return value.map(({ text }) => text).join("\n")
  return String(value).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
