// Outcomes of a send call, and the meaning of call errors.
import type { AppError, Json, OutgoingResponse } from "#core"
import type { IntegrationRequest } from "../../../agents/integrations/index.ts"
import type { StoredMessage } from "../messages.ts"
import type { PhoneNumber } from "../numbers/phone-number.ts"
import { isUserId } from "../phone.ts"
import { fieldsOf, listOf, textOf } from "../received.ts"

export type Outcome =
  /** The provider accepted the message. */
  | { readonly kind: "accepted"; readonly provider_id: string }
  /** The provider refused the message. A retry would fail as well. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  /** The provider did not accept the message. A retry may succeed. */
  | { readonly kind: "again"; readonly code: string; readonly message: string; readonly afterMs?: number }
  /** The outcome is unknown. Neither provider has idempotency keys, so there is no retry. */
  | { readonly kind: "unknown"; readonly message: string }

export interface Outbound {
  readonly message: StoredMessage
  readonly address: string
  readonly number: PhoneNumber
}

/** The protocol of a provider. */
interface SendingProvider {
  /** Returns the connection, and the request relative to its base URL. */
  request(outbound: Outbound): { readonly integration: string; readonly request: IntegrationRequest }
  read(response: OutgoingResponse): Outcome
}

/** Errors from before a connection was made. */
const neverMade: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"],
])

/** Errors raised before the request was sent. A retry cannot help. */
const refusals: ReadonlySet<string> = new Set([
  ...[
    "integration_not_found",
    "integration_unusable",
    "oauth_expired",
    "address_refused",
    "url_refused",
    "request_refused",
    "header_refused",
  ],
])

export function outcomeOfError({ message, details, notTried, retryAfterS }: AppError): Outcome {
  const reason = String(details.reason ?? "")
  if (notTried) return { kind: "again", code: reason, message, ...(retryAfterS === undefined ? {} : { afterMs: retryAfterS * 1_000 }) }
  if (refusals.has(reason)) return { kind: "failed", code: reason, message }
  const isNeverMade = reason === "connection_failed" && neverMade.has(String((details as { cause?: unknown }).cause))
  if (isNeverMade) return { kind: "again", code: reason, message }
  return { kind: "unknown", message }
}

/** Returns the outcome of a server error. The provider may have accepted the message, with any error code. */
function serverError(provider: string, status: number, { code, message }: { code: string; message: string }): Outcome {
  return { kind: "unknown", message: `${provider} answered ${status}${code && ` (${code})`}${message && `: ${message}`}` }
}

/** Reads `Retry-After` in seconds, at most an hour. */
function retryAfterMs(response: OutgoingResponse): { afterMs?: number } {
  const seconds = Number(response.headers["retry-after"])
  return Number.isFinite(seconds) && seconds > 0 ? { afterMs: Math.min(seconds, 3_600) * 1_000 } : {}
}

/** Sends through Twilio: POST /2010-04-01/Accounts/{sid}/Messages.json below a base URL such as https://api.twilio.com. */
export const twilio: SendingProvider = {
  request({ message, address, number: { number, sms } }) {
    const callback = sms?.status_callback_url ?? ""
    const StatusCallback = callback === "" ? {} : { StatusCallback: withMessage(callback, message.id) }
    return {
      integration: sms?.integration ?? "",
      request: {
        method: "POST",
        path: `/2010-04-01/Accounts/${sms?.account_sid ?? ""}/Messages.json`,
        headers: { "Content-Type": "application/x-www-form-urlencoded" },
        body: { To: address, From: number, Body: message.text, ...StatusCallback },
      },
    }
  },
  read(response) {
    const answer = fieldsOf(response.json)
    const provider_id = textOf(answer["sid"], 100)
    if (response.status >= 200 && response.status < 300) {
      return provider_id === "" ? { kind: "unknown", message: "Twilio answered without a message id." } : { kind: "accepted", provider_id }
    }
    const [code, message] = [textOf(answer["code"], 40), textOf(answer["message"], 500)]
    if (response.status === 429) return { kind: "again", code: code || "429", message, ...retryAfterMs(response) }
    if (response.status < 500) return { kind: "failed", code: code || String(response.status), message }
    return serverError("Twilio", response.status, { code, message })
  },
}

/** Adds the message id to the callback URL. A report then finds its message before the Twilio id is stored. */
function withMessage(callback: string, messageId: string): string {
  const url = new URL(callback)
  url.searchParams.set("message_id", messageId)
  return url.href
}

/** Codes of rate limits and temporary errors. The provider did not accept the message. */
const passing: ReadonlySet<string> = new Set(["2", "4", "80007", "130429", "131016", "131048", "131056", "133004"])

/**
 * Sends through Meta's Cloud API: POST /{phone-number-id}/messages below a base URL such as https://graph.facebook.com/v23.0. The
 * request contains the message's own id. Each status returns the id.
 */
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
