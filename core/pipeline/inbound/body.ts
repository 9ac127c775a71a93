// Bodies as they come (JSON, forms, multipart fields, text that is JSON) made into one thing: JSON text, parsed later
// and once, inside the sandbox. Form values stay strings, a repeated field becomes a list, nothing is coerced.
import { isUtf8 } from "node:buffer"
import busboy from "busboy"
import { hasTooManyFields, maxFormFields } from "../../contract/inbound.ts"
import { AppError } from "../../kernel/errors.ts"

export interface JsonBody {
  readonly text: string
  /** Forms mark tests and envelopes by strings. */
  readonly form: boolean
}

/** Throws AppError `invalid_argument` (status 415 for types it does not take). A promise only for multipart. */
export function toJsonText(body: Buffer, contentType: string | undefined): JsonBody | Promise<JsonBody> {
  const type = (contentType ?? "application/json").split(";", 1)[0]?.trim().toLowerCase() ?? ""
  if (type === "application/json" || type === "text/plain" || type === "application/csp-report" || type.endsWith("+json")) {
    if (body.length === 0)
      throw new AppError("invalid_argument", "The body is empty; a JSON object was expected.", { reason: "empty_body" })
    if (!isUtf8(body)) throw new AppError("invalid_argument", "The body is not valid UTF-8.", { reason: "not_utf8" })
    return { text: body.toString("utf8"), form: false }
  }
  if (type === "application/x-www-form-urlencoded") {
    const text = body.toString("utf8")
    if (hasTooManyFields(text)) throw tooManyFields()
    return { text: JSON.stringify(fromPairs(new URLSearchParams(text))), form: true }
  }
  if (type === "multipart/form-data") return multipart(body, contentType ?? "")
  throw unsupported(`The content type "${type}" is not taken. Send application/json, a form, or text/plain holding JSON.`)
}

function unsupported(message: string): AppError {
  return new AppError("invalid_argument", message, { reason: "unsupported_content_type" }, { status: 415 })
}

function tooManyFields(): AppError {
  return new AppError("invalid_argument", `The form has more than ${maxFormFields} fields.`, { reason: "too_many_fields" })
}

function fromPairs(pairs: Iterable<[string, string]>): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  let count = 0
  for (const [name, value] of pairs) {
    if (++count > maxFormFields) throw tooManyFields()
    const earlier = out[name]
    if (earlier === undefined) out[name] = value
    else if (Array.isArray(earlier)) earlier.push(value)
    else out[name] = [earlier, value]
  }
  return out
}

function multipart(body: Buffer, contentType: string): Promise<JsonBody> {
  return new Promise((resolve, reject) => {
    const malformed = (why: string) =>
      reject(new AppError("invalid_argument", `The multipart body cannot be read: ${why}.`, { reason: "malformed_body" }))
    const pairs: [string, string][] = []
    let parser: ReturnType<typeof busboy>
    try {
      parser = busboy({
        headers: { "content-type": contentType },
        limits: { fields: maxFormFields + 1, parts: maxFormFields + 1, fieldSize: body.length },
      })
    } catch (error) {
      return malformed((error as Error).message)
    }
    parser.on("field", (name, value) => pairs.push([name, value]))
    parser.on("file", (name, stream) => {
      stream.resume()
      reject(unsupported(`The form field "${name}" is a file; files are not taken here.`))
    })
    parser.on("error", (error) => malformed((error as Error).message))
    parser.on("close", () => {
      try {
        resolve({ text: JSON.stringify(fromPairs(pairs)), form: true })
      } catch (error) {
        reject(error as Error)
      }
    })
    parser.end(body)
  })
}
