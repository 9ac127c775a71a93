// Reads a message in a webhook of Meta's Cloud API: from a person, or an echo from the business's phone app.
import { type Json, timestamp } from "#core"
import { type MessageKind, messageKinds } from "../messages.ts"
import { isUserId, plus } from "../phone.ts"
import type { DeliveryState } from "../receipts.ts"
import { contentOf, type Fields, fieldsOf, listOf, nothing, numberOf, placeOf, type ReceivedMessage, textOf } from "../received.ts"

const mediaKinds = ["image", "audio", "video", "document", "sticker"]
const own: ReadonlySet<string> = new Set(["template", "other"])
const kinds: ReadonlySet<string> = new Set(messageKinds.filter((kind) => !own.has(kind)))

const historyStates: ReadonlyMap<string, DeliveryState> = new Map([
  ["PENDING", "accepted"],
  ["SENT", "sent"],
  ["DELIVERED", "delivered"],
  ["READ", "read"],
  ["PLAYED", "read"],
  ["ERROR", "failed"],
])

/** The context of the messages in one webhook change. */
export interface MessageSource {
  readonly own: { readonly number: string; readonly phone_number_id: string }
  /** By `wa_id` and by `user_id`. */
  readonly contacts: ReadonlyMap<string, Fields>
  readonly receivedAt: string
  /** The person of a history thread. */
  readonly person?: string
  readonly isHistory: boolean
}

export function sourceOf(value: Fields, field: string, receivedAt: string): MessageSource {
  const metadata = fieldsOf(value["metadata"])
  const number = plus(textOf(metadata["display_phone_number"], 40))
  const contacts = new Map<string, Fields>()
  for (const contact of listOf(value["contacts"]))
    for (const name of ["wa_id", "user_id"]) {
      const id = textOf(contact[name], 140)
      if (id !== "" && !contacts.has(id)) contacts.set(id, contact)
    }
  const own = { number, phone_number_id: textOf(metadata["phone_number_id"], 100) }
  return { own, contacts, receivedAt, isHistory: field === "history" }
}

/** Returns undefined for a message without an id or a person, and for a group message. */
export function messageOf(message: Fields, source: MessageSource, isEcho = false): ReceivedMessage | undefined {
  const [provider_id, type] = [textOf(message["id"], 300), textOf(message["type"], 40)]
  const { own, contacts } = source
  if (provider_id === "" || textOf(message["group_id"], 140) !== "") return undefined
  if (own.phone_number_id === "" && !/\d/.test(own.number)) return undefined
  const from = addressOf(message["from"])
  const isOut = isEcho || (source.isHistory && from !== "" && from === own.number)
  const party = isOut ? partyOf(message, "to", source.person) : partyOf(message, "from", source.person)
  if (party.address === "") return undefined
  const contact = contacts.get(party.wa_id) ?? contacts.get(party.user_id)
  const content = Object.hasOwn(message, type) ? message[type] : undefined
  const body = fieldsOf(content)
  const status = historyStates.get(textOf(fieldsOf(message["history_context"])["status"], 40).toUpperCase())
  return {
    ...nothing,
    ...(isOut ? { direction: "out", state: status ?? "sent" } : {}),
    own,
    address: party.address,
    user_id: party.address === party.user_id ? "" : party.user_id || userIdOf(contact),
    provider_id,
    at: timeOf(message["timestamp"], source.receivedAt),
    kind: kinds.has(type) ? (type as MessageKind) : "other",
    text: textOf(body["body"]) || textOf(body["caption"]) || textOf(body["text"]) || titleOf(body),
    profile_name: isOut ? "" : textOf(fieldsOf(contact?.["profile"])["name"], 200),
    ...(source.isHistory && mediaKinds.includes(type) ? { replacesPlaceholder: true } : {}),
    ...partsOf(type, content ?? message["errors"], body),
    ...contextOf(fieldsOf(message["context"])),
    ...referralOf(message["referral"]),
  }
}

/** Returns a phone number or user ID, or an empty text for other values. */
export function addressOf(value: Json | undefined): string {
  const text = textOf(value, 140)
  if (isUserId(text)) return text
  return text.length <= 40 && /\d/.test(text) ? plus(text) : ""
}

function partyOf(message: Fields, side: "from" | "to", person: string | undefined): { address: string; wa_id: string; user_id: string } {
  const wa_id = textOf(message[side], 140) || (person ?? "")
  const given = textOf(message[`${side}_user_id`], 140)
  const user_id = isUserId(given) ? given : isUserId(wa_id) ? wa_id : ""
  const number = isUserId(wa_id) ? "" : addressOf(wa_id)
  return { address: number || user_id, wa_id, user_id }
}

function userIdOf(contact: Fields | undefined): string {
  const id = textOf(contact?.["user_id"], 140)
  return isUserId(id) ? id : ""
}

/** Returns the title of the chosen button or list item. */
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

/** Converts seconds since the epoch. The result is at most the time of the delivery. */
export function timeOf(value: Json | undefined, receivedAt: string): string {
  const seconds = numberOf(value)
  if (seconds === undefined || seconds <= 0) return receivedAt
  return timestamp(Math.min(Math.floor(seconds * 1_000), Date.parse(receivedAt)))
}
