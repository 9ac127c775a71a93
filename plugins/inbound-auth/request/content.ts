// Reads the event of a provider's delivery out of the form, query or XML that carries it.
import { AppError, type EventContent, type InboundRequest, type Json, type Scripts } from "#core"
import { formToObject, utf8Text } from "#core/engine"
import type { DeliveryShape } from "./delivery.ts"
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

/** Undefined if the body is read as it is. Throws AppError `invalid_argument`. */
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

/** Fields that are not JSON stay texts. */
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
