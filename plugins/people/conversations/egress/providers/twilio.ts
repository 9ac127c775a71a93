// Sending by Twilio: POST /2010-04-01/Accounts/{sid}/Messages.json below a base URL such as https://api.twilio.com.
import { fieldsOf, textOf } from "../../received.ts"
import { retryAfterMs, type SendingProvider, serverError } from "./outcome.ts"

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

/** Twilio's reports then name the message, whose Twilio id may not be known here. */
function withMessage(callback: string, messageId: string): string {
  const url = new URL(callback)
  url.searchParams.set("message_id", messageId)
  return url.href
}
