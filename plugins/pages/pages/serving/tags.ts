// Reads the tags of an HTML text as browsers do, with parse5's tokenizer (WHATWG HTML, 13.2.5). So a form here is a form there.
// No tree is built, so the time is linear in the length of any page. Pure.
import { type Token, Tokenizer, TokenizerMode } from "parse5"

export interface Tag {
  /** Lower case. A document type is the tag `!doctype`. */
  readonly name: string
  readonly closes: boolean
  /** Offsets of its `<`, and after its `>`. */
  readonly at: number
  readonly end: number
  /** Names are in lower case. The first of two equal names counts. */
  readonly attributes: ReadonlyMap<string, string>
}

/** Tokenizer mode of the text after an opening tag. The tree builder would set it; it is needed only for this mode. */
const textModes: Readonly<Record<string, (typeof TokenizerMode)[keyof typeof TokenizerMode]>> = {
  textarea: TokenizerMode.RCDATA,
  title: TokenizerMode.RCDATA,
  style: TokenizerMode.RAWTEXT,
  xmp: TokenizerMode.RAWTEXT,
  iframe: TokenizerMode.RAWTEXT,
  noembed: TokenizerMode.RAWTEXT,
  noframes: TokenizerMode.RAWTEXT,
  script: TokenizerMode.SCRIPT_DATA,
  plaintext: TokenizerMode.PLAINTEXT,
}

/** Ignores tags inside comments and raw text, and an incomplete tag at the end. */
export function tagsOf(html: string): readonly Tag[] {
  const tags: Tag[] = []
  let foreign = 0
  const add = ({ location }: Token.TagToken | Token.DoctypeToken, tag: Pick<Tag, "name" | "closes" | "attributes">) =>
    tags.push({ ...tag, at: location?.startOffset ?? 0, end: location?.endOffset ?? 0 })
  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onStartTag(token) {
        const { tagName: name, attrs, selfClosing } = token
        add(token, { name, closes: false, attributes: new Map(attrs.map(({ name: key, value }) => [key, value])) })
        if ((name === "svg" || name === "math") && !selfClosing) foreign++
        tokenizer.inForeignNode = foreign > 0
        const mode = Object.hasOwn(textModes, name) ? textModes[name] : undefined
        // In SVG and MathML, a tag like <title/> has no text. In HTML its slash has no meaning.
        if (mode !== undefined && !(selfClosing && foreign > 0)) tokenizer.state = mode
      },
      onEndTag(token) {
        const { tagName: name } = token
        add(token, { name, closes: true, attributes: new Map() })
        if (name === "svg" || name === "math") foreign = Math.max(0, foreign - 1)
        tokenizer.inForeignNode = foreign > 0
      },
      onDoctype: (token) => void add(token, { name: "!doctype", closes: false, attributes: new Map() }),
      onComment: () => undefined,
      onCharacter: () => undefined,
      onNullCharacter: () => undefined,
      onWhitespaceCharacter: () => undefined,
      onEof: () => undefined,
    },
  )
  tokenizer.write(html, true)
  return tags
}
