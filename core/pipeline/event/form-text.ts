// Reads the names and values of forms in the charset of their sender. A browser names the charset in the field `_charset_`. Other
// senders use the content type, omit the charset or name a wrong one.
import { type Charset, charsetOf, charsetParameter, decodeText, encodingOf } from "../../kernel/charset.ts"

/** Names and values in their original order. */
export type FormFields = readonly (readonly [name: string, value: string])[]

/** The same fields as bytes. Each character is a byte. */
type RawFields = readonly (readonly [name: string, value: string])[]

export interface ReadFields {
  readonly fields: FormFields
  /** Set if the charset is not UTF-8. */
  readonly charset?: Charset
}

const lost = "\uFFFD"

/** `usual` has the fields decoded as UTF-8. For another charset the function calls `raw`. */
export function readFields(contentType: string, usual: FormFields, raw: () => RawFields): ReadFields {
  const label = usual.find(([name, value]) => name === "_charset_" && value !== "")?.[1] ?? charsetParameter(contentType)
  const encoding = encodingOf(label)
  const isUsual = encoding === undefined || encoding === "utf-8"
  if (isUsual && !usual.some(([name, value]) => name.includes(lost) || value.includes(lost))) return { fields: usual }
  const bytes = raw().map(([name, value]) => [Buffer.from(name, "latin1"), Buffer.from(value, "latin1")] as const)
  // All fields share a charset, so detection uses all of them.
  const charset = charsetOf(Buffer.concat(bytes.flatMap(([name, value]) => [name, newLine, value, newLine])), label)
  if (charset.name === "utf-8") return { fields: usual, charset }
  return { fields: bytes.map(([name, value]) => [decodeText(name, charset), decodeText(value, charset)]), charset }
}

const newLine = Buffer.from("\n")

/** Returns the fields of an urlencoded body as bytes. */
export function rawUrlencoded(body: Buffer): RawFields {
  return body
    .toString("latin1")
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const mark = pair.indexOf("=")
      return mark < 0 ? [unescaped(pair), ""] : [unescaped(pair.slice(0, mark)), unescaped(pair.slice(mark + 1))]
    })
}

function unescaped(text: string): string {
  return text.replaceAll("+", " ").replaceAll(/%([0-9a-f]{2})/gi, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
