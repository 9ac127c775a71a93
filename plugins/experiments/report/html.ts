// HTML as values: every value of a template is escaped, unless it is HTML of another template. Names, feedback and what models
// say are strangers' texts.

export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Shown = string | number | Html | readonly Html[]

export function html(parts: TemplateStringsArray, ...values: readonly Shown[]): Html {
  return new Html(parts.map((part, place) => part + (place < values.length ? shown(values[place] ?? "") : "")).join(""))
}

export const nothing = new Html("")

function shown(value: Shown): string {
  if (value instanceof Html) return value.text
  if (typeof value === "object") return value.map(({ text }) => text).join("\n")
  return String(value).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
