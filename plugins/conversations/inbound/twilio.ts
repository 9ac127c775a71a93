// Webhooks of Twilio for text messages: a message that came in, or the status of one that was sent.
import type { Json } from "#core"
import { plus } from "../phone.ts"
import type { DeliveryState } from "../receipts.ts"
import { type Delivery, type Fields, fieldsOf, nothing, numberOf, type ReceivedMessage, textOf } from "../received.ts"

const states: ReadonlyMap<string, DeliveryState> = new Map([
  ["accepted", "accepted"],
  ["scheduled", "accepted"],
  ["queued", "accepted"],
  ["sending", "accepted"],
  ["sent", "sent"],
  ["undelivered", "failed"],
  ["failed", "failed"],
  ["canceled", "failed"],
  ["delivered", "delivered"],
  ["read", "read"],
])

/** Twilio delivers at most ten files with a message. */
const maxMedia = 10

/** Undefined for what is not a delivery of Twilio's. Its times are those of arrival: Twilio sends none. */
export function readTwilio(payload: Json, receivedAt: string): Delivery | undefined {
  const form = fieldsOf(payload)
  const provider_id = textOf(form["MessageSid"], 100) || textOf(form["SmsSid"], 100)
  if (provider_id === "") return undefined
  const status = (textOf(form["MessageStatus"], 40) || textOf(form["SmsStatus"], 40)).toLowerCase()
  const empty = { channel: "sms", messages: [], statuses: [], preferences: [], ignored: 0 } as const
  if (form["Body"] !== undefined && (status === "received" || status === "")) {
    const message = messageOf(form, provider_id, receivedAt)
    return message ? { ...empty, messages: [message] } : { ...empty, ignored: 1 }
  }
  const state = states.get(status)
  if (state === undefined) return { ...empty, ignored: 1 }
  const code = textOf(form["ErrorCode"], 40)
  const error = code === "" ? null : { code, message: textOf(form["ErrorMessage"], 500) }
  return { ...empty, statuses: [{ provider_id, message_id: null, state, at: receivedAt, error }] }
}

function messageOf(form: Fields, provider_id: string, receivedAt: string): ReceivedMessage | undefined {
  const [from, to] = [textOf(form["From"], 40), textOf(form["To"], 40)]
  // A chat app's number by way of Twilio, such as whatsapp:+49…, is not a text message.
  if (from === "" || !/\d/.test(to) || from.includes(":")) return undefined
  const media = Array.from({ length: Math.min(numberOf(form["NumMedia"]) ?? 0, maxMedia) }, (_, index) => ({
    media_type: textOf(form[`MediaContentType${index}`], 100),
    file_name: "",
    source: textOf(form[`MediaUrl${index}`], 2_000),
  })).filter(({ source }) => source !== "")
  const choice = textOf(form["OptOutType"], 20).toUpperCase()
  return {
    ...nothing,
    own: { number: plus(to), phone_number_id: "" },
    address: /[a-z]/i.test(from) ? from : plus(from),
    provider_id,
    at: receivedAt,
    kind: media[0] ? kindOf(media[0].media_type) : "text",
    text: textOf(form["Body"]),
    media,
    ...(choice === "" ? {} : { preference: choice === "STOP" ? "opt_out" : choice === "START" ? "opt_in" : "none" }),
  }
}

function kindOf(mediaType: string): "image" | "audio" | "video" | "document" {
  const [group] = mediaType.split("/")
  return group === "image" || group === "audio" || group === "video" ? group : "document"
}
