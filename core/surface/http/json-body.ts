// Reads the JSON body of a request. Checks size, type, charset and shape; each refusal has the matching HTTP status.
import type { IncomingMessage } from "node:http"
import { AppError } from "../../kernel/errors.ts"
import { jsonFault } from "../../kernel/json-fault.ts"
import { excessOf, tooComplex } from "../../kernel/json-shape.ts"
import { giveWay } from "../../kernel/main-thread.ts"
import { bodyOf } from "../../kernel/read-body.ts"
import { roundedInteger } from "../../kernel/rounded-integer.ts"
import { kindOf } from "../../kernel/zod-problems.ts"

export const defaultMaxBodyBytes = 1_048_576
/** Longer texts are read, parsed and checked in separate turns of the event loop. */
const longText = 65_536
const jsonType = /^application\/(?:[\w.+-]+\+)?json$/i

/** Returns the body as an object, `{}` for an empty body. Throws `resource_exhausted` (413) or `invalid_argument` (415, 400). */
export async function readJsonBody(request: IncomingMessage, maxBytes = defaultMaxBodyBytes): Promise<Record<string, unknown>> {
  const text = await readJsonText(request, maxBytes)
  if (text === "") return {}
  const isLong = text.length > longText
  if (isLong) await giveWay()
  const value = parse(text)
  if (isLong) await giveWay()
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw malformed(`The body must be a JSON object; it is ${kindOf(value)}.`, "body_not_an_object")
  }
  return value as Record<string, unknown>
}

/** Returns the text of a body, "" for an empty body. Checks size, type, charset and shape. The text may be invalid JSON. */
export async function readJsonText(request: IncomingMessage, maxBytes = defaultMaxBodyBytes): Promise<string> {
  const bytes = await bodyOf(request, maxBytes)
  if (bytes.length === 0) return ""
  checkType(request)
  const text = decode(bytes)
  refuseExcess(text)
  return text
}

function checkType(request: IncomingMessage): void {
  const [type = "", ...parameters] = (request.headers["content-type"] ?? "").split(";").map((part) => part.trim())
  if (!jsonType.test(type))
    throw unsupported(`The body's type is "${type || "not given"}"; send Content-Type: application/json.`, "unsupported_content_type")
  const charset = parameters
    .find((parameter) => /^charset=/i.test(parameter))
    ?.slice(8)
    .replaceAll('"', "")
  if (charset && !/^utf-?8$/i.test(charset)) throw unsupported(`The body's charset is "${charset}"; send UTF-8.`, "unsupported_charset")
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    throw malformed("The body is not valid UTF-8.", "not_utf8")
  }
}

function parse(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const { fault, ...position } = jsonFault(text)
    throw new AppError("invalid_argument", `The body is not valid JSON: ${fault} at line ${position.line}, column ${position.column}.`, {
      reason: "malformed_body",
      ...position,
    })
  }
  refuseRounded(text)
  return value
}

/** Throws `invalid_argument` for an integer beyond the exact range of a number. The text must be JSON. */
export function refuseRounded(text: string): void {
  const rounded = roundedInteger(text)
  if (!rounded) return
  const message = `holds the integer ${rounded.digits.slice(0, 40)}, which a number cannot hold exactly; send it as text, in quotation marks`
  throw new AppError("invalid_argument", `The field ${JSON.stringify(rounded.field)} ${message}.`, {
    reason: "invalid_fields",
    fields: [{ path: rounded.field, message }],
  })
}

/** Maximum of fields in one object of a call. */
const maxFields = 2_000

/** Throws `invalid_argument` if the text would block the event loop for too long. */
function refuseExcess(text: string): void {
  const excess = excessOf(text, maxFields)
  if (!excess) return
  if (excess.limit === maxFields) {
    throw new AppError("invalid_argument", `An object in the body has more than ${maxFields} fields; no object may have more.`, {
      reason: "too_many_fields",
      max_fields: maxFields,
    })
  }
  throw tooComplex(excess)
}

function unsupported(message: string, reason: "unsupported_charset" | "unsupported_content_type"): AppError {
  return new AppError("invalid_argument", message, { reason }, { status: 415 })
}

function malformed(message: string, reason: "body_not_an_object" | "not_utf8"): AppError {
  return new AppError("invalid_argument", message, { reason })
}
