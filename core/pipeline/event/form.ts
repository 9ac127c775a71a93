// Reads forms of browsers and other senders. Verification and processing share this reader, so they always see the same fields.
import busboy from "busboy"
import { type Charset, charsetOf, charsetParameter, decodeText } from "../../kernel/charset.ts"
import type { ReceivedFile } from "../event-files.ts"
import { type FormFields, rawUrlencoded, readFields } from "./form-text.ts"

export type { FormFields } from "./form-text.ts"

/** A parsed form. */
export interface Form {
  /**
   * Fields in their original order, including empty file choices. Files are excluded. A form with too many fields has an empty
   * list.
   */
  readonly fields: FormFields
  /** Absent if the form has no files. */
  readonly files?: readonly ReceivedFile[]
  /** Reason to refuse the form. Kind `file` applies only if files are not accepted. */
  readonly problem: FormProblem | undefined
  /** Set if the fields are not UTF-8. */
  readonly charset?: Charset
}

export interface FormProblem {
  readonly kind: "malformed" | "too_many_fields" | "file"
  /** Message of the parser, or the name of the file field. */
  readonly detail: string
}

/** Maximum fields of a form. A larger form is refused before parsing. */
export const maxFormFields = 1_000

const tooMany: Form = { fields: [], problem: { kind: "too_many_fields", detail: "" } }

/** Reads urlencoded and multipart bodies. Returns undefined for other content types. */
export function readForm(contentType: string, body: Buffer): Form | undefined {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase()
  if (type === "application/x-www-form-urlencoded") return urlencoded(contentType, body)
  if (type !== "multipart/form-data") return undefined
  return multipart(contentType, body)
}

/**
 * Returns true for a JSON body with the urlencoded content type, a common mistake of programs. Browsers never send a raw quote in
 * such a body.
 */
export function isJsonText(contentType: string, body: Buffer): boolean {
  if (contentType.split(";", 1)[0]?.trim().toLowerCase() !== "application/x-www-form-urlencoded") return false
  const text = body.subarray(0, maxJsonStart).toString("latin1")
  const end = body.subarray(-maxJsonStart).toString("latin1")
  return /^(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[[{"\]\d-])/.test(text) && /[\]}]\s*$/.test(end)
}

/** Maximum white space around JSON, in bytes. */
const maxJsonStart = 256

/** Converts fields to an object. A repeated field becomes a list. Values stay texts. */
export function formToObject(fields: FormFields): Record<string, string | string[]> {
  const document: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of fields) {
    const earlier = document[name]
    if (earlier === undefined) document[name] = value
    else if (Array.isArray(earlier)) earlier.push(value)
    else document[name] = [earlier, value]
  }
  return document
}

function urlencoded(contentType: string, body: Buffer): Form {
  const text = body.toString("utf8")
  // Counting before parsing matters: the parser takes seconds for very many fields.
  let count = 1
  for (let at = text.indexOf("&"); at >= 0; at = text.indexOf("&", at + 1)) if (++count > maxFormFields) return tooMany
  return { ...readFields(contentType, [...new URLSearchParams(text)], () => rawUrlencoded(body)), problem: undefined }
}

const notFramed: FormProblem = { kind: "malformed", detail: "it does not end, or is not framed as its boundary says" }

/** Parses the part heads with a short placeholder for each content, so the content size does not affect the speed. */
function multipart(contentType: string, body: Buffer): Form {
  const fields: [string, string][] = []
  const files: ReceivedFile[] = []
  const none = { fields, files }
  const split = splitParts(contentType, body, maxFormFields + maxFiles + 1)
  if (!split) return { ...none, problem: notFramed }
  const parts = [...split]
  let problem: FormProblem | undefined
  let parser: ReturnType<typeof busboy>
  try {
    const headers = { "content-type": `multipart/form-data; boundary=${headBoundary}` }
    parser = busboy({ headers, limits: { parts: parts.length + 1 }, defCharset: "latin1", defParamCharset: "latin1" })
  } catch (error) {
    return { ...none, problem: malformed(error) }
  }
  const raw: [string, string][] = []
  let charset: Charset | undefined
  const addField = (name: string, { head, content }: Part) => {
    const label = charsetParameter(/^content-type:.*$/im.exec(head.toString("latin1"))?.[0] ?? "")
    const own = label === undefined ? undefined : charsetOf(content, label)
    if (own?.isDetected) charset = own
    const text = own ? decodeText(content, own) : content.toString("utf8")
    fields.push([utf8Of(name), text])
    // A part with its own charset is already decoded.
    raw.push([name, (own ? Buffer.from(text) : content).toString("latin1")])
  }
  const addFile = (name: string, filename: string, type: string, part: Part) => {
    // For an empty file choice, browsers send a part with an empty file name and empty content.
    if (filename === "" && part.content.length === 0) return addField(name, part)
    const called = utf8Of(filename)
    files.push({ field: utf8Of(name), name: called.includes("\uFFFD") ? filename : called, type, bytes: part.content })
  }
  /** Entries in part order. The content of a file is available after the parser ends. */
  const found: { readonly index: () => unknown; readonly add: (part: Part) => void }[] = []
  // The parser passes undefined as the name of a part without a name.
  parser.on("field", (name: string | undefined, value) => {
    found.push({ index: () => value, add: (part) => addField(name ?? "", part) })
  })
  parser.on("file", (name: string | undefined, stream, { filename, mimeType }) => {
    // The parser reports a broken file twice: on the file's stream and on itself.
    stream.on("error", () => undefined)
    found.push({ index: () => stream.read(), add: (part) => addFile(name ?? "", filename ?? "", mimeType, part) })
  })
  parser.on("error", (error) => {
    problem ??= malformed(error)
  })
  parser.end(headsOf(parts))
  for (const { index, add } of found) {
    const part = parts[Number(String(index()))]
    if (part) add(part)
  }
  // The parser emits an early end in a later turn.
  if (parser.errored) problem ??= malformed(parser.errored)
  if (problem) return { ...none, problem }
  if (fields.length > maxFormFields) return tooMany
  const read = readFields(contentType, fields, () => raw)
  const file = files[0]
  return {
    ...read,
    files,
    ...(charset && { charset }),
    problem: file && { kind: "file", detail: file.field },
  }
}

/** Maximum files of a form. */
const maxFiles = 100
/** No part head contains this boundary, because no head line begins with two hyphens. */
const headBoundary = "millrace-head-of-a-part"

function headsOf(parts: readonly Part[]): Buffer {
  const line = Buffer.from("\r\n")
  const lines = parts.flatMap(({ head }, index) => [
    Buffer.from(`--${headBoundary}\r\n`),
    withoutCharset(head),
    Buffer.from(`\r\n\r\n${index}`),
    line,
  ])
  return Buffer.concat([...lines, Buffer.from(`--${headBoundary}--\r\n`)])
}

/** Removes the charset. The parser would decode the part's index in this charset, and would lose it for an unknown charset. */
function withoutCharset(head: Buffer): Buffer {
  const text = head.toString("latin1")
  return Buffer.from(
    text.replace(/^content-type:.*$/gim, (line) => line.replace(/;\s*charset\s*=\s*("[^"]*"|[^;\r]*)/gi, "")),
    "latin1",
  )
}

/** The parser returns each byte as a character, but decodes extended parameters itself. */
function utf8Of(name: string): string {
  return /[^\0-\xff]/.test(name) ? name : Buffer.from(name, "latin1").toString("utf8")
}

function malformed(error: unknown): FormProblem {
  return { kind: "malformed", detail: error instanceof Error ? error.message : String(error) }
}

// Splits a multipart body at its boundary. Contents are unread slices of the body, so ten megabytes take a few milliseconds. The
// form parser reads the heads of the parts.

interface Part {
  /** Lines of the head, without the empty line after them. */
  readonly head: Buffer
  readonly content: Buffer
}

/** Returns undefined if the body breaks the framing of its boundary (RFC 2046, 5.1.1), or has too many parts. */
function splitParts(contentType: string, body: Buffer, maxParts: number): Part[] | undefined {
  const [, quoted, plain] = /;\s*boundary\s*=\s*(?:"([^"]{1,200})"|([^;\s]{1,200}))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) return undefined
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1")
  const isFirst = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2))
  const found = isFirst ? -2 : body.indexOf(delimiter)
  const parts: Part[] = []
  for (let at = found; at >= -2 && at !== -1; ) {
    const start = at + delimiter.length
    if (body[start] === 0x2d && body[start + 1] === 0x2d) return parts
    const line = body.indexOf("\r\n", start, "latin1")
    if (line < 0 || parts.length >= maxParts || !/^[ \t]*$/.test(body.toString("latin1", start, line))) return undefined
    const next = body.indexOf(delimiter, line)
    if (next < 0) return undefined
    const part = partOf(body.subarray(line + 2, Math.max(next, line + 2)))
    if (!part) return undefined
    parts.push(part)
    at = next
  }
  return undefined
}

function partOf(bytes: Buffer): Part | undefined {
  const end = bytes.indexOf("\r\n\r\n", 0, "latin1")
  if (end < 0) return undefined
  return { head: bytes.subarray(0, end), content: bytes.subarray(end + 4) }
}
