// The tags of an HTML text, found by the rules of a browser's tokenizer (WHATWG HTML, 13.2.5), so that what is a form here
// is one there. Any writer of a page decides what is read: the text is gone through once, from front to back, and takes
// time in proportion to its length, whatever it holds. Pure.

export interface Tag {
  /** In lower case; a document type is the tag `!doctype`. */
  readonly name: string
  readonly closes: boolean
  /** Of its `<`, and behind its `>`. */
  readonly at: number
  readonly end: number
  /** Names in lower case; of two of a name the first counts. References such as `&amp;` stay as they are written. */
  readonly attributes: ReadonlyMap<string, string>
}

interface ReadTag extends Tag {
  readonly endsInSlash: boolean
}

const opening = /<(?:(\/?)([a-z][^\t\n\f\r />]*)|!--|!doctype|[!?/])/iy
const gap = /[\t\n\f\r /]*/y
// A name may begin with = and holds none behind that.
const nameAndEquals = /(=?[^\t\n\f\r />=]*)([\t\n\f\r ]*=[\t\n\f\r ]*)?/y
const unquoted = /[^\t\n\f\r >]*/y
const endOfText = /[\t\n\f\r />]/.source
const rawText: ReadonlySet<string> = new Set(["style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"])

/** What is inside of comments and raw text is none, nor is one that the text breaks off in. */
export function* tagsOf(html: string): Generator<Tag> {
  let foreign = 0
  for (let at = html.indexOf("<"), next = 0; at >= 0; at = html.indexOf("<", next)) {
    const { tag, end } = markupAt(html, at)
    next = end
    if (tag && end > 0) {
      yield tag
      if (tag.name === "svg" || tag.name === "math") foreign = Math.max(0, foreign + levels(tag))
      // In SVG and MathML a tag like <title/> has no text; in HTML its slash means nothing.
      if (!tag.closes && !(tag.endsInSlash && foreign > 0)) next = behindText(html, tag)
    }
    if (next < 0) return
  }
}

function levels({ closes, endsInSlash }: ReadTag): number {
  if (closes) return -1
  return endsInSlash ? 0 : 1
}

/** What begins at a `<`, and where it ends: -1 where the text ends before it does. */
function markupAt(html: string, at: number): { tag?: ReadTag | undefined; end: number } {
  const [begun = "<", slash, name] = matchAt(opening, html, at) ?? []
  const from = at + begun.length
  if (begun === "<") return { end: from }
  if (begun === "<!--") return { end: behindComment(html, from) }
  if (name !== undefined) {
    const tag = readTag(html, { at, from, name: name.toLowerCase(), closes: slash === "/" })
    return { tag, end: tag?.end ?? -1 }
  }
  const end = html.indexOf(">", from) + 1 || -1
  if (begun.length === 2) return { end }
  return { tag: { name: "!doctype", closes: false, at, end, attributes: new Map(), endsInSlash: false }, end }
}

/** Undefined where the text ends before the tag does. */
function readTag(html: string, tag: Pick<Tag, "at" | "name" | "closes"> & { readonly from: number }): ReadTag | undefined {
  const { at, name, closes } = tag
  const attributes = new Map<string, string>()
  for (let next = tag.from; next < html.length; ) {
    const [skipped = ""] = matchAt(gap, html, next) ?? []
    next += skipped.length
    if (html[next] === ">") return { name, closes, at, end: next + 1, attributes, endsInSlash: skipped.endsWith("/") }
    const [both = "", attribute = "", equals] = matchAt(nameAndEquals, html, next) ?? []
    next += both.length
    const value = equals === undefined ? { text: "", end: next } : readValue(html, next)
    const key = attribute.toLowerCase()
    if (!attributes.has(key)) attributes.set(key, value.text)
    next = value.end
  }
  return undefined
}

function readValue(html: string, at: number): { text: string; end: number } {
  const quote = html[at]
  if (quote !== '"' && quote !== "'") {
    const [text = ""] = matchAt(unquoted, html, at) ?? []
    return { text, end: at + text.length }
  }
  const close = html.indexOf(quote, at + 1)
  const end = close < 0 ? html.length : close
  return { text: html.slice(at + 1, end), end: end + 1 }
}

/** Where tags are read again behind an opening tag; -1 when they never are. */
function behindText(html: string, { name, end }: Tag): number {
  if (name === "plaintext") return -1
  if (name === "script") return behindScript(html, end)
  if (!rawText.has(name)) return end
  const closing = new RegExp(`</${name}${endOfText}`, "gi")
  closing.lastIndex = end
  return closing.exec(html)?.index ?? -1
}

/** The element ends at its closing tag, unless that is of a script which was begun inside of a comment in it. */
function behindScript(html: string, from: number): number {
  const marks = new RegExp(`<!--|-->|<(/?)script${endOfText}`, "gi")
  marks.lastIndex = from
  let inComment = false
  let inner = false
  for (let match = marks.exec(html); match; match = marks.exec(html)) {
    const [mark, slash] = match
    if (mark === "<!--") {
      inComment = true
      // Its dashes may be those of the end as well: <!-->.
      marks.lastIndex = match.index + 2
    } else if (mark === "-->") inComment = inner = false
    else if (slash === "") inner = inComment
    else if (inner) inner = false
    else return match.index
  }
  return -1
}

/** A comment ends in `-->` or `--!>`, whose dashes may be those it began with where nothing is between them and `>`. */
function behindComment(html: string, from: number): number {
  const [atOnce] = matchAt(/-?>/y, html, from) ?? []
  if (atOnce !== undefined) return from + atOnce.length
  const end = /--!?>/g
  end.lastIndex = from
  return end.test(html) ? end.lastIndex : -1
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at
  return sticky.exec(text)
}
