// Forms as browsers and other senders write them, read in one way: what verifies a form and what is done with it must
// never see different fields.
import type { Readable } from "node:stream"
import busboy from "busboy"
import type { Charset } from "../../kernel/charset.ts"
import { type FormFields, rawUrlencoded, readFields } from "./form-text.ts"

export type { FormFields } from "./form-text.ts"

/** A form that was read. */
export interface Form {
  /** In the order sent, a choice of files that was left empty among them; files are left out, and a form with too many fields has none. */
  readonly fields: FormFields
  /** Reason to refuse the form. */
  readonly problem: FormProblem | undefined
  /** Set if the fields are not UTF-8 as usual. */
  readonly charset?: Charset
}

export interface FormProblem {
  readonly kind: "malformed" | "too_many_fields" | "file"
  /** What the parser said, or the field that is a file. */
  readonly detail: string
}

/** Fields that a form may have; one with more is refused, before it is taken apart. */
export const maxFormFields = 1_000

const tooMany: Form = { fields: [], problem: { kind: "too_many_fields", detail: "" } }

/** Urlencoded and multipart bodies; undefined when the content type is not a form. */
export function readForm(contentType: string, body: Buffer): Form | undefined {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase()
  if (type === "application/x-www-form-urlencoded") return urlencoded(contentType, body)
  if (type !== "multipart/form-data") return undefined
  const form = multipart(contentType, body, "utf8")
  const raw = () => multipart(contentType, withoutCharsets(body), "latin1").fields
  return form.problem?.kind === "too_many_fields" ? form : { ...form, ...readFields(contentType, form.fields, raw) }
}

/** Returns true for an urlencoded body that is JSON, as programs send it that forget the type. No browser sends a quote there. */
export function isJsonText(contentType: string, body: Buffer): boolean {
  if (contentType.split(";", 1)[0]?.trim().toLowerCase() !== "application/x-www-form-urlencoded") return false
  const text = body.subarray(0, maxJsonStart).toString("latin1")
  const end = body.subarray(-maxJsonStart).toString("latin1")
  return /^(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[[{"\]\d-])/.test(text) && /[\]}]\s*$/.test(end)
}

/** White space that may stand around JSON is no longer. */
const maxJsonStart = 256

/** Fields as an object, a repeated one as a list; values stay texts. */
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
  // Taking it apart to count them takes seconds where they are many.
  let count = 1
  for (let at = text.indexOf("&"); at >= 0; at = text.indexOf("&", at + 1)) if (++count > maxFormFields) return tooMany
  return { ...readFields(contentType, [...new URLSearchParams(text)], () => rawUrlencoded(body)), problem: undefined }
}

/** Takes the charsets out of the heads of parts, so that the parser gives their bytes as they are. */
function withoutCharsets(body: Buffer): Buffer {
  const text = body.toString("latin1").replaceAll(/(\r\ncontent-type:[^\r\n]{0,200}?);\s*charset=(?:"[^"\r\n]{0,40}"|[^;\s]{0,40})/gi, "$1")
  return Buffer.from(text, "latin1")
}

/** Parses the whole body in this turn. The parser then reports its first error in `errored`. */
function multipart(contentType: string, body: Buffer, charset: "utf8" | "latin1"): Form {
  const fields: [string, string][] = []
  let problem: FormProblem | undefined
  let parser: ReturnType<typeof busboy>
  try {
    const limits = { parts: maxFormFields + 1, fieldSize: body.length }
    // Room for every file, so that none keeps the fields after it waiting: all are there when `end` returns.
    parser = busboy({
      headers: { "content-type": contentType },
      limits,
      defCharset: charset,
      defParamCharset: charset,
      fileHwm: body.length + 1,
    })
  } catch (error) {
    return { fields, problem: malformed(error) }
  }
  // The parser passes undefined as the name of a part without a name.
  parser.on("field", (name: string | undefined, value) => fields.push([name ?? "", value]))
  const unnamed = new Map<FormFields[number], Readable>()
  parser.on("file", (name: string | undefined, stream, { filename }) => {
    // The parser reports a broken file twice: on the file's stream and on itself.
    stream.on("error", () => undefined)
    stream.resume()
    if (filename) {
      problem ??= { kind: "file", detail: name ?? "" }
      return
    }
    const field: [string, string] = [name ?? "", ""]
    fields.push(field)
    unnamed.set(field, stream)
  })
  parser.on("error", (error) => {
    problem ??= malformed(error)
  })
  parser.end(body)
  // The parser emits an early end in a later turn.
  if (parser.errored) problem ??= malformed(parser.errored)
  // Where no file was chosen, browsers send a part without a file's name and without a byte. All bytes are here, unread.
  const isFile = (field: FormFields[number]) => (unnamed.get(field)?.readableLength ?? 0) > 0
  const file = fields.find(isFile)
  if (file) problem ??= { kind: "file", detail: file[0] }
  const sent = fields.filter((field) => !isFile(field))
  return sent.length > maxFormFields ? tooMany : { fields: sent, problem }
}

function malformed(error: unknown): FormProblem {
  return { kind: "malformed", detail: error instanceof Error ? error.message : String(error) }
}
