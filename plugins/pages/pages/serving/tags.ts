// The tags of an HTML text as a browser reads them, by parse5's tokenizer (WHATWG HTML, 13.2.5), so that what is a form
// here is one there. Nothing is built of them: it takes time linear in the length, for any page. Pure.
import { type Token, Tokenizer, TokenizerMode } from "parse5"

export interface Tag {
  /** In lower case; a document type is the tag `!doctype`. */
  readonly name: string
  readonly closes: boolean
  /** Of its `<`, and behind its `>`. */
  readonly at: number
  readonly end: number
  /** Names in lower case; of two of a name the first counts. */
  readonly attributes: ReadonlyMap<string, string>
}

/** How the text behind an opening tag is read. The tree builder would say; none is needed for that alone. */
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

/** Tags inside comments and raw text are ignored, as is one that the text ends in. */
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
        // In SVG and MathML a tag like <title/> has no text; in HTML its slash means nothing.
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
