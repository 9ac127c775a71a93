// Webhooks of Twilio for text messages and WhatsApp: a received message, or the status of a sent message.
import type { Json } from "#core"
import { plus } from "../phone.ts"
import type { DeliveryState } from "../receipts.ts"
import { type Delivery, type Fields, fieldsOf, nothing, numberOf, placeOf, type ReceivedMessage, textOf } from "../received.ts"

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

/** Returns undefined if the payload is not a Twilio webhook. Twilio sends no times, so times are those of arrival. */
export function readTwilio(payload: Json, receivedAt: string): Delivery | undefined {
  const form = fieldsOf(payload)
  const provider_id = textOf(form["MessageSid"], 100) || textOf(form["SmsSid"], 100)
  if (provider_id === "") return undefined
  const status = (textOf(form["MessageStatus"], 40) || textOf(form["SmsStatus"], 40)).toLowerCase()
  const channel = isChatApp(form) ? "chat_app" : "sms"
  const empty = { channel, messages: [], statuses: [], preferences: [], changes: [], ignored: 0 } as const
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

const chatApp = "whatsapp:"

function isChatApp(form: Fields): boolean {
  return [form["From"], form["To"]].some((end) => textOf(end, 20).toLowerCase().startsWith(chatApp))
}

function messageOf(form: Fields, provider_id: string, receivedAt: string): ReceivedMessage | undefined {
  const ends = [textOf(form["From"], 160), textOf(form["To"], 160)]
  const [from = "", to = ""] = ends.map((end) => (end.toLowerCase().startsWith(chatApp) ? end.slice(chatApp.length) : end))
  // An address of another app, such as messenger:…, is neither a text message nor WhatsApp.
  if (from === "" || !/\d/.test(to) || from.includes(":")) return undefined
  const media = Array.from({ length: Math.min(numberOf(form["NumMedia"]) ?? 0, maxMedia) }, (_, index) => ({
    media_type: textOf(form[`MediaContentType${index}`], 100),
    file_name: "",
    source: textOf(form[`MediaUrl${index}`], 2_000),
  })).filter(({ source }) => source !== "")
  const choice = textOf(form["OptOutType"], 20).toUpperCase()
  const named = /[a-z]/i.test(from) ? from.slice(0, 140) : plus(from)
  return {
    ...nothing,
    own: { number: plus(to), phone_number_id: "" },
    address: named,
    provider_id,
    at: receivedAt,
    kind: media[0] ? kindOf(media[0].media_type) : "text",
    text: textOf(form["Body"]),
    media,
    ...(choice === "" ? {} : { preference: choice === "STOP" ? "opt_out" : choice === "START" ? "opt_in" : "none" }),
    ...(isChatApp(form) ? chatPartsOf(form) : {}),
  }
}

/** Fields of a WhatsApp message. */
function chatPartsOf(form: Fields): Partial<ReceivedMessage> {
  const text = (name: string, max = 2_000) => textOf(form[name], max)
  const place = placeOf(form["Latitude"], form["Longitude"])
  const answered = text("OriginalRepliedMessageSid", 300)
  const forwarded = text("Forwarded", 10) === "true" || text("FrequentlyForwarded", 10) === "true"
  const [source_type, source_id, source_url] = [text("ReferralSourceType"), text("ReferralSourceId"), text("ReferralSourceUrl")]
  const referral = { source_type, source_id, source_url, headline: text("ReferralHeadline"), body: text("ReferralBody") }
  return {
    profile_name: text("ProfileName", 200),
    ...(text("ButtonText") === "" ? {} : { kind: "button", text: text("ButtonText") }),
    ...(place ? { kind: "location", location: { ...place, name: text("Label", 1_000), address: text("Address", 1_000) } } : {}),
    ...(answered === "" && !forwarded ? {} : { context: { provider_message_id: answered, forwarded } }),
    ...(source_id === "" && source_url === "" ? {} : { referral: { ...referral, click_id: text("ReferralCtwaClid") } }),
  }
}

function kindOf(mediaType: string): "image" | "audio" | "video" | "document" {
  const [group] = mediaType.split("/")
  return group === "image" || group === "audio" || group === "video" ? group : "document"
}
