// Finds the insertion points in a page's HTML: the head, and each form of the page itself. The rest of the HTML stays unchanged.
// Pure.
import { type Tag, tagsOf } from "./tags.ts"

export interface Insertion {
  readonly at: number
  /**
   * `head`: start of the head. `tag`: attributes of a form, before its own, since the first of two equal attributes counts.
   * `form`: end of a form.
   */
  readonly what: "head" | "tag" | "form"
  /** The author's name of the form, escaped for a quoted attribute; "" for other insertions. */
  readonly name: string
}

export interface Prepared {
  readonly html: string
  readonly insertions: readonly Insertion[]
}

export interface Parts {
  readonly head: string
  readonly tag: string
  /** `name`: escaped for a quoted attribute. */
  readonly form: (name: string) => string
}

const byteOrderMark = "\uFEFF"

export function prepare(html: string): Prepared {
  const forms: Insertion[] = []
  const ends: Record<string, number> = {}
  const open = new OpenForms()
  for (const tag of tagsOf(html)) {
    const ended = open.see(tag)
    if (ended) forms.push({ ...ended, at: tag.at })
    if (tag.closes) continue
    if (tag.name === "head" || tag.name === "html" || tag.name === "!doctype") ends[tag.name] ??= tag.end
    else if (tag.name === "form" && isOwn(tag.attributes)) forms.push({ at: tag.at + "<form".length, what: "tag", name: "" })
  }
  // Without a head element, the insertion point is the place of the parser's implied head.
  const at = ends["head"] ?? ends["html"] ?? ends["!doctype"] ?? (html.startsWith(byteOrderMark) ? byteOrderMark.length : 0)
  const head = { at, what: "head" as const, name: "" }
  return { html, insertions: [head, ...forms, ...open.unended()].sort((left, right) => left.at - right.at) }
}

/**
 * Finds the ends of the page's forms: the closing tag used by a parser, in the same template. Forms inside templates are not
 * sent. A form inside another form is ignored. An unclosed form ends at its start.
 */
class OpenForms {
  /** Open form by template depth; null for a form of another target. */
  readonly #open: (Insertion | null | undefined)[] = [undefined]
  readonly #unended: Insertion[] = []

  /** Returns the form closed by this tag. */
  see({ name, closes, attributes, end }: Tag): Insertion | undefined {
    const depth = this.#open.length - 1
    if (name === "template") {
      if (!closes) this.#open.push(undefined)
      else if (depth > 0) this.#keep(this.#open.pop())
      return undefined
    }
    if (name !== "form") return undefined
    const form = this.#open[depth]
    if (closes) {
      this.#open[depth] = undefined
      return form ?? undefined
    }
    if (form !== undefined) return undefined
    const called = attributes.get("data-cta") || attributes.get("id") || attributes.get("name") || "form"
    this.#open[depth] = isOwn(attributes) ? { at: end, what: "form", name: escapeAttribute(called) } : null
    return undefined
  }

  unended(): readonly Insertion[] {
    for (const form of this.#open) this.#keep(form)
    return this.#unended
  }

  #keep(form: Insertion | null | undefined): void {
    if (form) this.#unended.push(form)
  }
}

export function fill({ html, insertions }: Prepared, parts: Parts): string {
  let out = ""
  let from = 0
  for (const { at, what, name } of insertions) {
    out += html.slice(from, at) + (what === "form" ? parts.form(name) : parts[what])
    from = at
  }
  return out + html.slice(from)
}

export function escapeAttribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
}

/**
 * A form belongs to the page if its action is absent, empty or an anchor, its method is neither GET nor dialog, and it has no data-mr-ignore.
 */
export function isOwn(attributes: ReadonlyMap<string, string>): boolean {
  const action = attributes.get("action")?.trim() ?? ""
  const method = attributes.get("method")?.trim() ?? ""
  return (action === "" || action.startsWith("#")) && !attributes.has("data-mr-ignore") && !/^(get|dialog)$/i.test(method)
}
