// Webhooks of Meta's Cloud API for WhatsApp: messages, statuses and the choices that people make in WhatsApp itself.
import { type Json, timestamp } from "#core"
import { type MessageKind, messageKinds } from "../messages.ts"
import { plus } from "../phone.ts"
import type { DeliveryState } from "../receipts.ts"
import {
  contentOf,
  type Delivery,
  type Fields,
  fieldsOf,
  listOf,
  nothing,
  numberOf,
  placeOf,
  type ReceivedMessage,
  type ReceivedPreference,
  type ReceivedStatus,
  textOf,
} from "../received.ts"

const states: ReadonlyMap<string, DeliveryState> = new Map(
  (["sent", "delivered", "read", "failed"] as const).map((state) => [state, state]),
)
const mediaKinds = ["image", "audio", "video", "document", "sticker"]

/** Undefined for what is not a delivery of the API. */
export function readMeta(payload: Json, receivedAt: string): Delivery | undefined {
  const { object, entry } = fieldsOf(payload)
  if (object !== "whatsapp_business_account" || !Array.isArray(entry)) return undefined
  const values = listOf(entry).flatMap((one) => listOf(one["changes"]).map(({ value }) => fieldsOf(value)))
  const messages = values.flatMap((value) => listOf(value["messages"]).map((message) => messageOf(message, value, receivedAt)))
  const statuses = values.flatMap((value) => listOf(value["statuses"]).map((status) => statusOf(status, receivedAt)))
  const preferences = values.flatMap((value) => listOf(value["user_preferences"]).map((one) => preferenceOf(one, receivedAt)))
  const known = { messages: messages.filter(isKnown), statuses: statuses.filter(isKnown), preferences: preferences.filter(isKnown) }
  const parts = messages.length + statuses.length + preferences.length
  const ignored = parts - known.messages.length - known.statuses.length - known.preferences.length
  return { channel: "chat_app", ...known, ignored: parts === 0 ? 1 : ignored }
}

function isKnown<T>(one: T | undefined): one is T {
  return one !== undefined
}

function messageOf(message: Fields, value: Fields, receivedAt: string): ReceivedMessage | undefined {
  const [provider_id, from, type] = [textOf(message["id"], 300), textOf(message["from"], 40), textOf(message["type"], 40)]
  const metadata = fieldsOf(value["metadata"])
  const own = { number: plus(textOf(metadata["display_phone_number"], 40)), phone_number_id: textOf(metadata["phone_number_id"], 100) }
  if (provider_id === "" || !/\d/.test(from) || (own.phone_number_id === "" && !/\d/.test(own.number))) return undefined
  const sender = listOf(value["contacts"]).find(({ wa_id }) => textOf(wa_id, 40) === from)
  const content = Object.hasOwn(message, type) ? message[type] : undefined
  const body = fieldsOf(content)
  return {
    ...nothing,
    own,
    address: plus(from),
    provider_id,
    at: timeOf(message["timestamp"], receivedAt),
    kind: messageKinds.includes(type as MessageKind) && type !== "template" ? (type as MessageKind) : "other",
    text: textOf(body["body"]) || textOf(body["caption"]) || textOf(body["text"]) || titleOf(body),
    profile_name: textOf(fieldsOf(sender?.["profile"])["name"], 200),
    ...partsOf(type, content ?? message["errors"], body),
    ...contextOf(fieldsOf(message["context"])),
    ...referralOf(message["referral"]),
  }
}

/** Of a button or a list of an interactive message, the title that the person chose. */
function titleOf(body: Fields): string {
  return textOf(fieldsOf(body["button_reply"])["title"]) || textOf(fieldsOf(body["list_reply"])["title"])
}

function partsOf(type: string, content: Json | undefined, body: Fields): Partial<ReceivedMessage> {
  if (mediaKinds.includes(type)) {
    const source = textOf(body["id"], 300)
    if (source === "") return {}
    return { media: [{ media_type: textOf(body["mime_type"], 100), file_name: textOf(body["filename"], 300), source }] }
  }
  if (type === "location") {
    const place = placeOf(body["latitude"], body["longitude"])
    return place ? { location: { ...place, name: textOf(body["name"], 1_000), address: textOf(body["address"], 1_000) } } : {}
  }
  if (type === "reaction") {
    return { reaction: { provider_message_id: textOf(body["message_id"], 300), emoji: textOf(body["emoji"], 40) } }
  }
  return type === "text" || type === "button" ? {} : { content: contentOf(content) }
}

function contextOf(context: Fields): Partial<ReceivedMessage> {
  const provider_message_id = textOf(context["id"], 300)
  const forwarded = context["forwarded"] === true || context["frequently_forwarded"] === true
  return provider_message_id === "" && !forwarded ? {} : { context: { provider_message_id, forwarded } }
}

function referralOf(value: Json | undefined): Partial<ReceivedMessage> {
  if (value === undefined) return {}
  const referral = fieldsOf(value)
  const text = (name: string) => textOf(referral[name], 2_000)
  const { source_type, source_id, source_url } = {
    source_type: text("source_type"),
    source_id: text("source_id"),
    source_url: text("source_url"),
  }
  return { referral: { source_type, source_id, source_url, headline: text("headline"), body: text("body"), click_id: text("ctwa_clid") } }
}

function statusOf(status: Fields, receivedAt: string): ReceivedStatus | undefined {
  const [provider_id, state] = [textOf(status["id"], 300), states.get(textOf(status["status"], 40))]
  if (provider_id === "" || state === undefined) return undefined
  const [failure] = listOf(status["errors"])
  const details = fieldsOf(failure?.["error_data"])["details"]
  return {
    provider_id,
    message_id: textOf(status["biz_opaque_callback_data"], 100) || null,
    state,
    at: timeOf(status["timestamp"], receivedAt),
    error: failure ? { code: textOf(failure["code"], 40), message: textOf(details, 500) || textOf(failure["title"], 500) } : null,
  }
}

/** Marketing messages that a person stops or lets come again in WhatsApp's own menu. */
function preferenceOf(one: Fields, receivedAt: string): ReceivedPreference | undefined {
  const [from, value] = [textOf(one["wa_id"], 40), textOf(one["value"], 40)]
  if (!/\d/.test(from) || (value !== "stop" && value !== "resume")) return undefined
  const wording = textOf(one["detail"], 500) || `${textOf(one["category"], 100)}: ${value}`
  return { address: plus(from), kind: value === "stop" ? "opt_out" : "opt_in", at: timeOf(one["timestamp"], receivedAt), wording }
}

/** Seconds since the epoch; never later than the delivery itself. */
function timeOf(value: Json | undefined, receivedAt: string): string {
  const seconds = numberOf(value)
  if (seconds === undefined || seconds <= 0) return receivedAt
  return timestamp(Math.min(Math.floor(seconds * 1_000), Date.parse(receivedAt)))
}
