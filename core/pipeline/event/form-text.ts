// Reads the names and values of forms in the charset of their sender. A browser names the charset in the field
// `_charset_`, other senders name it in the content type, and some name none or a wrong one.
import { type Charset, charsetOf, charsetParameter, decodeText, encodingOf } from "../../kernel/charset.ts"

/** Names and values as they were sent, in order. */
export type FormFields = readonly (readonly [name: string, value: string])[]

/** The same as bytes, each byte a character. */
type RawFields = readonly (readonly [name: string, value: string])[]

export interface ReadFields {
  readonly fields: FormFields
  /** The charset, if it is not UTF-8 as usual. */
  readonly charset?: Charset
}

const lost = "\uFFFD"

/** `usual`: the fields read as UTF-8. `raw` is called for a form of another charset. */
export function readFields(contentType: string, usual: FormFields, raw: () => RawFields): ReadFields {
  const label = usual.find(([name, value]) => name === "_charset_" && value !== "")?.[1] ?? charsetParameter(contentType)
  const encoding = encodingOf(label)
  const isUsual = encoding === undefined || encoding === "utf-8"
  if (isUsual && !usual.some(([name, value]) => name.includes(lost) || value.includes(lost))) return { fields: usual }
  const bytes = raw().map(([name, value]) => [Buffer.from(name, "latin1"), Buffer.from(value, "latin1")] as const)
  // All fields are of one charset, so all of them count for its detection.
  const charset = charsetOf(Buffer.concat(bytes.flatMap(([name, value]) => [name, newLine, value, newLine])), label)
  if (charset.name === "utf-8") return { fields: usual, charset }
  return { fields: bytes.map(([name, value]) => [decodeText(name, charset), decodeText(value, charset)]), charset }
}

const newLine = Buffer.from("\n")

/** The fields of an urlencoded body as bytes. */
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
