// Reads a body as JSON text. Supported bodies are JSON, forms, multipart fields and text with JSON. The sandbox parses the result
// later. Form values stay strings, and a repeated field becomes a list. Only the test marker is converted, because a form has no
// booleans.
import type { StepWarning } from "../../contract/action.ts"
import { type Charset, charsetOf, charsetParameter, decodeText } from "../../kernel/charset.ts"
import { AppError } from "../../kernel/errors.ts"
import { excessOf, minExcessLength, tooComplex } from "../../kernel/json-shape.ts"
import type { FileReference, ReceivedFile } from "../event-files.ts"
import { type Form, type FormProblem, formToObject, isJsonText, maxFormFields, readForm } from "./form.ts"

export interface BodyText {
  /** JSON text. */
  readonly text: string
  readonly warnings: readonly StepWarning[]
}

export interface ReadOptions {
  /** False to read a form only as a form, even if its whole text is JSON. */
  readonly mayBeJson?: boolean
  /** Returns the references of a form's files for the event. Without it, files are refused. */
  readonly refer?: ((files: readonly ReceivedFile[]) => readonly FileReference[]) | undefined
}

/** Throws AppError `invalid_argument`, with status 415 for an unsupported type. */
export function readBodyText(body: Buffer, contentType: string | undefined, { mayBeJson = true, refer }: ReadOptions = {}): BodyText {
  const given = contentType ?? "application/json"
  const type = given.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  if (type === "application/json" || type === "text/plain" || type === "application/csp-report" || type.endsWith("+json")) {
    if (body.length === 0)
      throw new AppError("invalid_argument", "The body is empty; a JSON object was expected.", { reason: "empty_body" })
    return jsonText(body, given)
  }
  if (mayBeJson && isJsonText(given, body)) {
    const { text, warnings } = jsonText(body, given)
    return { text, warnings: [{ pointer: "", message: "The body was sent as a form and read as JSON, which it holds." }, ...warnings] }
  }
  const form = readForm(given, body)
  if (!form) throw unsupported(`The content type "${type}" is not supported. Send application/json, a form, or text/plain with JSON.`)
  return { text: formText(form, refer), warnings: [...noteOf(form.charset), ...emptyNote(form)] }
}

function jsonText(body: Buffer, contentType: string): BodyText {
  const charset = charsetOf(body, charsetParameter(contentType))
  const text = decodeText(body, charset)
  // The shape of a body in UTF-8 was checked before. Other charsets are checked here.
  const excess = charset.name === "utf-8" ? undefined : excessOf(text)
  if (excess) throw tooComplex(excess)
  return { text, warnings: noteOf(charset) }
}

/** Warns about a charset other than the sender's declared charset. */
function noteOf(charset: Charset | undefined): StepWarning[] {
  if (!charset?.isDetected) return []
  return [{ pointer: "", message: `The charset was detected as ${charset.name}; the sender named none or a wrong one.` }]
}

function emptyNote({ fields }: Form): StepWarning[] {
  if (fields.some(([name]) => !name.startsWith("_envelope."))) return []
  return [{ pointer: "", message: "The form has no fields. A browser leaves out fields without a name." }]
}

/** Checks the shape of a JSON body before any parser runs. Returns the error for a too complex body, or undefined. */
export function refusalOfShape(body: Buffer): AppError | undefined {
  if (body.length < minExcessLength) return undefined
  // Structural characters are single bytes in both UTF-8 and Latin-1, so the check needs no decoding. A byte order mark may
  // precede them.
  const text = body.toString("latin1")
  const excess = /^(?:\xef\xbb\xbf)?\s*[[{]/.test(text) ? excessOf(text) : undefined
  return excess && tooComplex(excess)
}

function unsupported(message: string): AppError {
  return new AppError("invalid_argument", message, { reason: "unsupported_content_type" }, { status: 415 })
}

function formText({ fields, files = [], problem }: Form, refer: ReadOptions["refer"]): string {
  const isFile = problem?.kind === "file"
  if (problem && !(isFile && refer)) throw refusalOf(problem)
  const document: Record<string, unknown> = formToObject(fields)
  const references = files.length > 0 && refer ? refer(files) : []
  for (const [index, reference] of references.entries()) addTo(document, files[index]?.field ?? "", reference)
  const marker = document["is_test"]
  if (marker === "true" || marker === "1") document["is_test"] = true
  else if (marker === "false" || marker === "0") document["is_test"] = false
  return JSON.stringify(document)
}

/** A field with several files is a list, like a field with several values. */
function addTo(document: Record<string, unknown>, name: string, reference: FileReference): void {
  const earlier = document[name]
  // A form can send an empty file choice and a filled choice under the same name.
  if (earlier === undefined || earlier === "") document[name] = reference
  else document[name] = Array.isArray(earlier) ? [...(earlier as unknown[]), reference] : [earlier, reference]
}

function refusalOf({ kind, detail }: FormProblem): AppError {
  switch (kind) {
    case "file":
      return unsupported(`The form field "${detail}" is a file, and this pipeline does not accept files; set accept_files in its document.`)
    case "too_many_fields":
      return new AppError("invalid_argument", `The form has more than ${maxFormFields} fields.`, { reason: kind })
    case "malformed":
      return new AppError("invalid_argument", `The multipart body cannot be read: ${detail}.`, { reason: "malformed_body" })
  }
}
