// HTML as values. A template escapes every value, unless it is HTML of another template.

/** Trusted HTML text. Never text of a sender. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Fills an empty place in a template. */
export const noHtml = new Html("")

type Shown = string | number | Html | readonly Html[]

/** A template of HTML. Values are escaped. */
export function html(parts: TemplateStringsArray, ...values: readonly Shown[]): Html {
  return new Html(parts.map((part, index) => part + (index < values.length ? shown(values[index] ?? "") : "")).join(""))
}

function shown(value: Shown): string {
  if (value instanceof Html) return value.text
  if (typeof value === "object") return value.map(({ text }) => text).join("\n")
  return String(value).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
