// Extracts the event from the form, query or XML of a provider's delivery.

import { z } from "zod"
import { AppError, type EventContent, type InboundRequest, type Json, type Scripts } from "#core"
import { formToObject, utf8Text } from "#core/engine"
import { isJsonText, RequestView } from "./view.ts"
import { xmlScript } from "./xml-script.ts"

export interface ContentReader {
  readonly delivery: DeliveryShape
  readonly organization: string
  /** Runs the XML reader in the sandbox. Absent outside a service. */
  readonly scripts?: Scripts | undefined
}

const jsonType = "application/json"
const isXml = /^\s*(?:text|application)\/(?:[\w.+-]+\+)?xml\s*(?:;|$)/i

/** Returns undefined if the body needs no conversion. Throws AppError `invalid_argument`. */
export function contentOf(request: InboundRequest, reader: ContentReader): EventContent | undefined | Promise<EventContent> {
  const { delivery } = reader
  const view = new RequestView(request, delivery)
  if (request.method === "GET") return jsonOf(request.query as Json)
  if (request.body.length === 0) return delivery.mayBeEmpty ? jsonOf({}) : undefined
  if (delivery.xml && isXml.test(view.contentType)) return readXml(request, reader)
  const text = view.wrappedText
  if (text !== undefined) return { body: Buffer.from(text), contentType: jsonType }
  return delivery.jsonFields && view.form ? formContent(view, delivery.jsonFields) : undefined
}

function jsonOf(value: Json): EventContent {
  return { body: Buffer.from(JSON.stringify(value)), contentType: jsonType }
}

/** Fields with invalid JSON remain texts. */
function formContent(view: RequestView, names: readonly string[]): EventContent | undefined {
  const members = Object.entries(formToObject(view.form ?? [])).map(([name, value]) => {
    const isJson = names.includes(name) && typeof value === "string" && isJsonText(value)
    return `${JSON.stringify(name)}:${isJson ? value : JSON.stringify(value)}`
  })
  return { body: Buffer.from(`{${members.join(",")}}`), contentType: jsonType }
}

/** XML is parsed in an isolate of the sandbox, never in this process. */
async function readXml({ body, receivedAt }: InboundRequest, { delivery, organization, scripts }: ContentReader): Promise<EventContent> {
  const text = utf8Text(body)
  if (text === undefined) throw new AppError("invalid_argument", "The body is not valid UTF-8.", { reason: "not_utf8" })
  if (!scripts) throw new AppError("invalid_argument", "XML is read in a running service only.", { reason: "malformed_body" })
  const input = { text, lists: [...(delivery.xml?.lists ?? [])] }
  const result = await scripts.run({ organization, id: "inbound-auth xml", source: xmlScript, input, now: receivedAt, seed: "xml" })
  if (result.ok) return jsonOf(result.value)
  if (result.kind === "penalty" || result.kind === "unavailable")
    throw new AppError("unavailable", "XML cannot be read now; send it again.", { reason: "sandbox_unavailable" })
  throw new AppError("invalid_argument", `The XML body cannot be read: ${result.message}`, { reason: "malformed_body" })
}

const yes = z.literal(true).exactOptional()

/**
 * Formats of a provider besides JSON and plain forms, from its table row: JSON in a form field, XML, notices without a body, and
 * events by GET. Verification and pipelines read the same fields.
 */
export const DeliveryShape = z.strictObject({
  /** Form field whose JSON is the event. A form without the field stays a form. */
  field: z.string().exactOptional(),
  /** Form fields with JSON, parsed in their places. */
  jsonFields: z.array(z.string()).exactOptional(),
  /** Accepts XML. The named elements are always lists. */
  xml: z.strictObject({ lists: z.array(z.string()).default([]) }).exactOptional(),
  /** A request without a body is an event. */
  mayBeEmpty: yes,
  /** Events may arrive by GET, with their fields in the query. */
  get: yes,
  /** Reply to an accepted event, if the pipeline sets none. */
  answer: z.strictObject({ status: z.int().default(200), type: z.string(), body: z.string() }).exactOptional(),
})
export type DeliveryShape = z.output<typeof DeliveryShape>
