// Bodies as they come (JSON, forms, multipart fields, text that is JSON) made into one thing: JSON text, parsed later
// and once, inside the sandbox. Form values stay strings, a repeated field becomes a list; the test
// marker alone is read, since a form has no booleans.
import { isUtf8 } from "node:buffer"
import { AppError } from "../../kernel/errors.ts"
import { excessOf, minExcessLength } from "../../kernel/json-shape.ts"
import { tooComplex } from "../../kernel/too-complex.ts"
import { type Form, type FormProblem, formToObject, maxFormFields, readForm } from "./form.ts"

/** Throws AppError `invalid_argument`, with status 415 for an unsupported type. */
export function toJsonText(body: Buffer, contentType: string | undefined): string {
  const type = (contentType ?? "application/json").split(";", 1)[0]?.trim().toLowerCase() ?? ""
  if (type === "application/json" || type === "text/plain" || type === "application/csp-report" || type.endsWith("+json")) {
    if (body.length === 0)
      throw new AppError("invalid_argument", "The body is empty; a JSON object was expected.", { reason: "empty_body" })
    if (!isUtf8(body)) throw new AppError("invalid_argument", "The body is not valid UTF-8.", { reason: "not_utf8" })
    return body.toString("utf8")
  }
  const form = readForm(contentType ?? "", body)
  if (!form) throw unsupported(`The content type "${type}" is not supported. Send application/json, a form, or text/plain with JSON.`)
  return formText(form)
}

/** What a JSON body of such a shape is refused with, before anything parses it; undefined where it may be parsed. */
export function refusalOfShape(body: Buffer): AppError | undefined {
  if (body.length < minExcessLength) return undefined
  // Signs of structure are of one byte in UTF-8 as in Latin-1, which needs no decoding.
  const text = body.toString("latin1")
  const excess = /^\s*[[{]/.test(text) ? excessOf(text) : undefined
  return excess && tooComplex(excess)
}

function unsupported(message: string): AppError {
  return new AppError("invalid_argument", message, { reason: "unsupported_content_type" }, { status: 415 })
}

function formText({ fields, problem }: Form): string {
  if (problem) throw refusalOf(problem)
  const document: Record<string, unknown> = formToObject(fields)
  const marker = document["is_test"]
  if (marker === "true" || marker === "1") document["is_test"] = true
  else if (marker === "false" || marker === "0") document["is_test"] = false
  return JSON.stringify(document)
}

function refusalOf({ kind, detail }: FormProblem): AppError {
  switch (kind) {
    case "file":
      return unsupported(`The form field "${detail}" is a file; files are not supported.`)
    case "too_many_fields":
      return new AppError("invalid_argument", `The form has more than ${maxFormFields} fields.`, { reason: kind })
    case "malformed":
      return new AppError("invalid_argument", `The multipart body cannot be read: ${detail}.`, { reason: "malformed_body" })
  }
}
