// Sending by Meta's Cloud API: POST /{phone-number-id}/messages below a base URL such as https://graph.facebook.com/v23.0.
// The message's own id goes along and comes back with each status.
import type { Json } from "#core"
import { isUserId } from "../../phone.ts"
import { fieldsOf, listOf, textOf } from "../../received.ts"
import { retryAfterMs, type SendingProvider, serverError } from "./outcome.ts"

/** Rate limits and passing trouble: the message was not taken. */
const passing: ReadonlySet<string> = new Set(["2", "4", "80007", "130429", "131016", "131048", "131056", "133004"])

export const meta: SendingProvider = {
  request({ message, address, number: { chat_app } }) {
    const { template, text } = message
    const content = template
      ? { type: "template", template: { name: template.name, language: { code: template.language }, components: template.components } }
      : { type: "text", text: { preview_url: false, body: text } }
    const body: Json = {
      messaging_product: "whatsapp",
      recipient_type: "individual",
      ...(isUserId(address) ? { recipient: address } : { to: address }),
      biz_opaque_callback_data: message.id,
      ...content,
    }
    const path = `/${chat_app?.phone_number_id ?? ""}/messages`
    return { integration: chat_app?.integration ?? "", request: { method: "POST", path, body } }
  },
  read(response) {
    const answer = fieldsOf(response.json)
    const provider_id = textOf(listOf(answer["messages"])[0]?.["id"], 300)
    if (response.status >= 200 && response.status < 300) {
      return provider_id === "" ? { kind: "unknown", message: "Meta answered without a message id." } : { kind: "accepted", provider_id }
    }
    const error = fieldsOf(answer["error"])
    const code = textOf(error["code"], 40)
    const message = textOf(fieldsOf(error["error_data"])["details"], 500) || textOf(error["message"], 500)
    if (response.status === 429 || passing.has(code)) return { kind: "again", code, message, ...retryAfterMs(response) }
    if (response.status < 500) return { kind: "failed", code: code || String(response.status), message }
    return serverError("Meta", response.status, { code, message })
  },
}
