// Makes header fields readable. Decodes raw bytes of other charsets, and rewrites encoded words (RFC 2047) and parameters (RFC
// 2231) in UTF-8. Repairs truncated or misspelled content types.
import { decodeText } from "./decode.ts"
import { decodeByContent } from "./detect.ts"
import { decodeAs } from "./labels.ts"

/** Unfolds the lines of a header section. Returns a line for each field. */
export function readableFields(lines: readonly Uint8Array[], hints: readonly string[]): string[] {
  const fields: Uint8Array[][] = []
  for (const line of lines) {
    const last = fields.at(-1)
    if (last && (line[0] === 0x20 || line[0] === 0x09)) last.push(line)
    else fields.push([line])
  }
  const unfolded = fields.map((parts) => Buffer.concat(parts))
  // The same program wrote all fields, so their combined letters identify the charset.
  const foreign = unfolded.filter((field) => decodeAs("utf-8", field) === undefined)
  const label = foreign.length === 0 ? "" : (decodeByContent(Buffer.concat(foreign.flatMap((one) => [one, newline])), hints)?.label ?? "")
  return unfolded.map((field) => {
    const colon = field.indexOf(":") + 1
    const text = `${field.subarray(0, colon).toString("latin1")}${decodeText(field.subarray(colon), { declared: label, hints })}`
    return /^content-(?:type|disposition)[ \t]*:/i.test(text) ? readableParameters(withWords(text, hints), hints) : withWords(text, hints)
  })
}

const newline = Buffer.from("\n")
const word = /=\?([^?\s]+)\?([bq])\?([^?]*)\?=/gi
const words = /=\?[^?\s]+\?[bq]\?[^?]*\?=(?:[ \t]*=\?[^?\s]+\?[bq]\?[^?]*\?=)*/gi

/** A character may span two words of the same charset. */
function withWords(text: string, hints: readonly string[]): string {
  if (!text.includes("=?")) return text
  return text.replace(words, (run) => {
    const parts: { charset: string; bytes: Uint8Array[] }[] = []
    for (const [, charset = "", encoding = "", content = ""] of run.matchAll(word)) {
      const bytes = /b/i.test(encoding) ? Buffer.from(content, "base64") : unquoted(content)
      const last = parts.at(-1)
      if (last?.charset.toLowerCase() === charset.toLowerCase()) last.bytes.push(bytes)
      else parts.push({ charset, bytes: [bytes] })
    }
    const plain = parts.map(({ charset, bytes }) => decodeText(Buffer.concat(bytes), { declared: charset, hints })).join("")
    return `=?utf-8?B?${Buffer.from(plain).toString("base64")}?=`
  })
}

function unquoted(text: string): Uint8Array {
  return bytesIn(text.replaceAll("_", " "), /=([\da-f]{2})/gi)
}

function unescaped(text: string): Uint8Array {
  return bytesIn(text, /%([\da-f]{2})/gi)
}

function bytesIn(text: string, escapes: RegExp): Uint8Array {
  const plain = Buffer.from(text, "utf8").toString("latin1")
  return Buffer.from(
    plain.replace(escapes, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  )
}

/** Rewrites parameters such as `filename*=gbk''%B2%E2` and their continuations. */
function readableParameters(field: string, hints: readonly string[]): string {
  let text = /^content-type/i.test(field) ? readableType(field) : field
  for (const name of ["filename", "name"]) {
    const segment = new RegExp(`;[ \\t]*${name}\\*(\\d{0,4})(\\*?)[ \\t]*=[ \\t]*"?([^";]*)"?`, "gi")
    const found = [...text.matchAll(segment)]
    const [, charset, first] = /^([^']*)'[^']*'(.*)$/.exec(found[0]?.[3] ?? "") ?? []
    if (charset === undefined || first === undefined) continue
    const bytes = found.map(([, number = "", encoded = "", value = ""], at) =>
      number === "" || encoded === "*" ? unescaped(at === 0 ? first : value) : Buffer.from(value),
    )
    const plain = decodeText(Buffer.concat(bytes), { declared: charset, hints })
    text = `${text.replace(segment, "")}; ${name}*=utf-8''${encodeURIComponent(plain.toWellFormed()).replace(/['()*]/g, percent)}`
  }
  return text
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

/** Media types shown as plain text by mail clients. */
const plainTypes = /^text\/(?:ascii|us-ascii|text|unknown|x-plain|x-text|enriched|richtext|markdown|x-markdown|x-web-markdown)$/

/** A type without a subtype is plain text (RFC 2045 section 5.2). Adds a missing semicolon. */
function readableType(field: string): string {
  const [, head = "", type = "", rest = ""] = /^([^:]*:[ \t]*)([^\s;,]*)[ \t,]*(.*)$/s.exec(field) ?? []
  const plain = type.replaceAll('"', "").toLowerCase()
  const parameters = rest === "" || rest.startsWith(";") || rest.startsWith("(") ? rest : `; ${rest}`
  if (/^[^/\s=]+\/[^/\s=]+$/.test(plain)) {
    const isText = plainTypes.test(plain) && !/\bname\b/i.test(parameters)
    return `${head}${isText ? "text/plain" : type}${parameters}`
  }
  if (plain.includes("=")) return `${head}text/plain; ${type}${parameters}`
  if (plain.startsWith("multipart")) return `${head}multipart/mixed${parameters}`
  return `${head}${plain.includes("html") ? "text/html" : "text/plain"}${parameters}`
}
