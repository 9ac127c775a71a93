// Makes postal-mime decode texts and headers with our charsets. The library has no option for charsets, so this file replaces
// methods of its nodes. The method `feed` stores the raw header lines, `processHeaders` decodes them again, `getTextContent`
// decodes a body.
import PostalMime, { type Email, type PostalMimeOptions } from "postal-mime"
import { decodeText } from "./charset/decode.ts"
import { readableFields } from "./charset/header-fields.ts"

interface MimeNode {
  state: "header" | "body" | "finished"
  headerLines: string[]
  content: ArrayBuffer | null
  contentType: { parsed: { value: string; params: Record<string, string> } }
  feed(line: Uint8Array): void
  processHeaders(): void
  getTextContent(): string
}

/** Limit of charset labels taken from bodies and encoded words. */
const maxHints = 5
const hintBytes = 65_536

const rawLines = new WeakMap<MimeNode, Uint8Array[]>()
/** Hints of the current message. A thread parses one message at a time. */
let hints: readonly string[] = []

function replaceMethods(): void {
  const { root } = new PostalMime() as unknown as { readonly root: MimeNode }
  const prototype = Object.getPrototypeOf(root) as MimeNode
  const { feed, processHeaders, getTextContent } = prototype
  prototype.feed = function (line) {
    if (this.state === "header" && line.length > 0) {
      const lines = rawLines.get(this) ?? []
      lines.push(line)
      rawLines.set(this, lines)
    }
    feed.call(this, line)
  }
  prototype.processHeaders = function () {
    this.headerLines = readableFields(rawLines.get(this) ?? [], hints)
    rawLines.delete(this)
    processHeaders.call(this)
  }
  prototype.getTextContent = function () {
    if (!this.content) return ""
    const bytes = new Uint8Array(this.content)
    const { value, params } = this.contentType.parsed
    const declared = params["charset"] || (value === "text/html" ? metaCharset(bytes) : undefined)
    this.content = new Uint8Array(Buffer.from(decodeText(bytes, { declared, hints }))).buffer
    params["charset"] = "utf-8"
    return getTextContent.call(this)
  }
}

replaceMethods()

export async function parseMessage(raw: Uint8Array, options: PostalMimeOptions): Promise<Email> {
  const given = hintsIn(raw)
  // The parser reads the message within this turn, except for waits between its parts.
  hints = given
  return await PostalMime.parse(raw, options)
}

function hintsIn(raw: Uint8Array): string[] {
  const text = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, hintBytes)).toString("latin1")
  const labels = [...text.matchAll(/\bcharset\s*=\s*["']?([\w.:-]{1,40})|=\?([\w.:-]{1,40})(?:\*[\w-]*)?\?[bq]\?/gi)]
  return [...new Set(labels.map(([, declared, word]) => (declared ?? word ?? "").toLowerCase()))].slice(0, maxHints)
}

function metaCharset(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 2_048)).toString("latin1")
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(head)?.[1]
}
