// Finds the places in a page's HTML where something is put in: the head, and each form that sends to nowhere else.
// Nothing but those places is changed. Pure.
import { tagsOf } from "./tags.ts"

export interface Insertion {
  readonly at: number
  /** `head`: what goes first. `tag`: attributes of a form, before its own, since of two the first counts. `form`: what follows its tag. */
  readonly what: "head" | "tag" | "form"
}

export interface Prepared {
  readonly html: string
  readonly insertions: readonly Insertion[]
}

const byteOrderMark = "\uFEFF"

export function prepare(html: string): Prepared {
  const forms: Insertion[] = []
  const ends: Record<string, number> = {}
  for (const tag of tagsOf(html)) {
    if (tag.closes) continue
    if (tag.name === "head" || tag.name === "html" || tag.name === "!doctype") ends[tag.name] ??= tag.end
    else if (tag.name === "form" && isOwn(tag.attributes))
      forms.push({ at: tag.at + "<form".length, what: "tag" }, { at: tag.end, what: "form" })
  }
  // A document without a head element gets it where the parser would make one.
  const at = ends["head"] ?? ends["html"] ?? ends["!doctype"] ?? (html.startsWith(byteOrderMark) ? byteOrderMark.length : 0)
  const head = { at, what: "head" as const }
  return { html, insertions: [head, ...forms].sort((one, other) => one.at - other.at) }
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

export function escapeAttribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
}

/** A form belongs to the page when it has no action, an empty one or an anchor, asks for no GET, and has no data-mr-ignore. */
export function isOwn(attributes: ReadonlyMap<string, string>): boolean {
  const action = attributes.get("action")?.trim() ?? ""
  const method = attributes.get("method")?.trim() ?? ""
  return (action === "" || action.startsWith("#")) && !attributes.has("data-mr-ignore") && !/^(get|dialog)$/i.test(method)
}
