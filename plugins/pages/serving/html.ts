// Finds the places in a page's HTML where something is put in: the head, and each form that sends to nowhere else. A
// scan by the tokenizer's own rules (comments and raw text are skipped), which changes nothing but those places. Pure.

export interface Insertion {
  readonly at: number
  /** `head`: what goes first. `tag`: attributes of a form, before its own, since of two the first counts. `form`: what follows its tag. */
  readonly what: "head" | "tag" | "form"
}

export interface Prepared {
  readonly html: string
  readonly insertions: readonly Insertion[]
}

const tagPattern = /<!--|<(\/?)([a-zA-Z][^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*')*)>/g
const rawText: ReadonlySet<string> = new Set(["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "plaintext"])
const attribute = /([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g

/** A form belongs to the page when it has no action, an empty one or an anchor, asks for no GET, and has no data-mr-ignore. */
export function prepare(html: string): Prepared {
  const insertions: Insertion[] = []
  let head: number | undefined
  tagPattern.lastIndex = 0
  for (let match = tagPattern.exec(html); match; match = tagPattern.exec(html)) {
    const end = tagPattern.lastIndex
    const name = match[1] === "/" ? "" : (match[2] ?? "").toLowerCase()
    const next = match[0] === "<!--" ? after(html, "-->", end) : rawText.has(name) ? closing(html, name, end) : end
    if (next < 0) break
    tagPattern.lastIndex = next
    if (name === "head") head = end
    else if (name === "form" && isOwn(match[3] ?? ""))
      insertions.push({ at: match.index + "<form".length, what: "tag" }, { at: end, what: "form" })
  }
  const first = { at: head ?? afterDoctype(html), what: "head" as const }
  return { html, insertions: [first, ...insertions].sort((one, other) => one.at - other.at) }
}

export function fill({ html, insertions }: Prepared, parts: Readonly<Record<Insertion["what"], string>>): string {
  let out = ""
  let from = 0
  for (const { at, what } of insertions) {
    out += html.slice(from, at) + parts[what]
    from = at
  }
  return out + html.slice(from)
}

export function hasOwnForm({ insertions }: Prepared): boolean {
  return insertions.some(({ what }) => what === "form")
}

export function escapeAttribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
}

/** Where what follows the text begins; -1 when there is none. */
function after(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from)
  return found < 0 ? -1 : found + text.length
}

/** Where the element of raw text ends; -1 when it never does. */
function closing(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}[\\s/>]`, "gi")
  end.lastIndex = from
  return end.exec(html)?.index ?? -1
}

function isOwn(attributes: string): boolean {
  let own = true
  for (const [, name = "", double, single, bare] of attributes.matchAll(attribute)) {
    const value = (double ?? single ?? bare ?? "").trim()
    const lower = name.toLowerCase()
    if (lower === "action" && value !== "" && !value.startsWith("#")) own = false
    if (lower === "data-mr-ignore" || (lower === "method" && /^(get|dialog)$/i.test(value))) own = false
  }
  return own
}

/** A document that has no head element gets it where the parser would make one. */
function afterDoctype(html: string): number {
  return /^\s*(?:<!doctype[^>]*>)?\s*(?:<html(?:[^>"']|"[^"]*"|'[^']*')*>)?/i.exec(html)?.[0].length ?? 0
}
