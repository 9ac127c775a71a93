// Forms as browsers and other senders write them, read in one way: what verifies a form and what is done with it must
// never see different fields.
import type { Readable } from "node:stream"
import busboy from "busboy"

/** Names and values as they were sent, in order. */
export type FormFields = readonly (readonly [name: string, value: string])[]

/** A form that was read. */
export interface Form {
  /** In the order sent, a choice of files that was left empty among them; files are left out, and a form with too many fields has none. */
  readonly fields: FormFields
  /** Why it cannot be taken; of a multipart form known a turn later. */
  readonly problem: FormProblem | undefined | Promise<FormProblem | undefined>
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
  if (type === "application/x-www-form-urlencoded") return urlencoded(body.toString("utf8"))
  return type === "multipart/form-data" ? multipart(contentType, body) : undefined
}

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

function urlencoded(text: string): Form {
  // Taking it apart to count them takes seconds where they are many.
  let count = 1
  for (let at = text.indexOf("&"); at >= 0; at = text.indexOf("&", at + 1)) if (++count > maxFormFields) return tooMany
  return { fields: [...new URLSearchParams(text)], problem: undefined }
}

function multipart(contentType: string, body: Buffer): Form {
  const fields: [string, string][] = []
  let parser: ReturnType<typeof busboy>
  try {
    const limits = { parts: maxFormFields + 1, fieldSize: body.length }
    // Room for every file, so that none keeps the fields after it waiting: all are there when `end` returns.
    parser = busboy({ headers: { "content-type": contentType }, limits, defParamCharset: "utf8", fileHwm: body.length + 1 })
  } catch (error) {
    return { fields, problem: { kind: "malformed", detail: (error as Error).message } }
  }
  parser.on("field", (name, value) => fields.push([name, value]))
  const unnamed = new Map<FormFields[number], Readable>()
  const { promise: problem, resolve } = Promise.withResolvers<FormProblem | undefined>()
  parser.on("file", (name, stream, { filename }) => {
    // A body that breaks off in it is told by the parser as well; told here alone, it would end the process.
    stream.on("error", () => undefined)
    stream.resume()
    if (filename) return resolve({ kind: "file", detail: name })
    const field: [string, string] = [name, ""]
    fields.push(field)
    unnamed.set(field, stream)
  })
  parser.on("error", (error) => resolve({ kind: "malformed", detail: (error as Error).message }))
  parser.on("close", () => resolve(undefined))
  parser.end(body)
  // Where no file was chosen, browsers send a part without a file's name and without a byte. All bytes are here, unread.
  const isFile = (field: FormFields[number]) => (unnamed.get(field)?.readableLength ?? 0) > 0
  const file = fields.find(isFile)
  if (file) resolve({ kind: "file", detail: file[0] })
  const sent = fields.filter((field) => !isFile(field))
  return sent.length > maxFormFields ? tooMany : { fields: sent, problem }
}
