// Webhooks of Meta's Cloud API for WhatsApp: messages, echoes of the phone app, history, and statuses. Also changes of a person's
// number or user ID, and marketing preferences set in WhatsApp.
import type { Json } from "#core"
import { plus } from "../phone.ts"
import type { DeliveryState } from "../receipts.ts"
import {
  type AddressChange,
  type Delivery,
  type Fields,
  fieldsOf,
  listOf,
  type ReceivedMessage,
  type ReceivedPreference,
  type ReceivedStatus,
  textOf,
} from "../received.ts"
import { addressOf, type MessageSource, messageOf, sourceOf, timeOf } from "./meta-message.ts"

const states: ReadonlyMap<string, DeliveryState> = new Map([
  ...(["sent", "delivered", "read", "failed"] as const).map((state) => [state, state] as const),
  ["played", "read"],
])

/** System message types for a change of number or user ID. Older API versions use other names. */
const changeTypes: ReadonlySet<string> = new Set(["user_changed_number", "customer_changed_number", "user_changed_user_id"])

/** Returns undefined if the payload is not a webhook of the API. */
export function readMeta(payload: Json, receivedAt: string): Delivery | undefined {
  const { object, entry } = fieldsOf(payload)
  if (object !== "whatsapp_business_account" || !Array.isArray(entry)) return undefined
  const sources = listOf(entry)
    .flatMap((one) => listOf(one["changes"]))
    .map((change) => ({ value: fieldsOf(change["value"]), field: textOf(change["field"], 100) }))
  const messages = sources.flatMap(({ value, field }) => messagesOf(value, sourceOf(value, field, receivedAt)))
  const each = <T>(list: string, read: (one: Fields) => T) => sources.flatMap(({ value }) => listOf(value[list]).map(read))
  const statuses = each("statuses", (one) => statusOf(one, receivedAt))
  const preferences = each("user_preferences", (one) => preferenceOf(one, receivedAt))
  const userIds = each("user_id_update", (one) => userIdUpdateOf(one, receivedAt))
  const parts = [messages, statuses, preferences, userIds].flat()
  const changes = [...each("messages", (one) => changesOf(one, receivedAt)).flat(), ...userIds.filter(isKnown)]
  return {
    channel: "chat_app",
    messages: messages.filter(isKnown),
    statuses: statuses.filter(isKnown),
    preferences: preferences.filter(isKnown),
    changes,
    ignored: parts.length === 0 ? 1 : parts.filter((part) => part === undefined).length,
  }
}

function messagesOf(value: Fields, source: MessageSource): (ReceivedMessage | undefined)[] {
  const threads = listOf(value["history"]).flatMap((part) => listOf(part["threads"]))
  return [
    ...listOf(value["messages"]).map((message) => messageOf(message, source)),
    ...listOf(value["message_echoes"]).map((message) => messageOf(message, source, true)),
    ...threads.flatMap((thread) => {
      const ofThread = { ...source, person: textOf(thread["id"], 140), isHistory: true }
      return listOf(thread["messages"]).map((message) => messageOf(message, ofThread))
    }),
  ]
}

function isKnown<T>(one: T | undefined): one is T {
  return one !== undefined
}

/** Returns the changes of the number, the user ID, or both. */
function changesOf(message: Fields, receivedAt: string): AddressChange[] {
  const system = fieldsOf(message["system"])
  if (message["type"] !== "system" || !changeTypes.has(textOf(system["type"], 60))) return []
  const [at, provider_id, wording] = [timeOf(message["timestamp"], receivedAt), textOf(message["id"], 300), textOf(system["body"], 500)]
  const number = { from: addressOf(message["from"]), to: addressOf(system["wa_id"] ?? system["new_wa_id"]) }
  const userId = { from: addressOf(message["from_user_id"]), to: addressOf(system["user_id"]) }
  // If both are present, the number identifies the person.
  const to = number.to || userId.to
  const pairs = [
    { from: number.from, to },
    { from: userId.from, to },
    { from: userId.to, to },
  ]
  return pairs.filter(({ from }) => from !== "" && to !== "" && from !== to).map((pair) => ({ ...pair, at, wording, provider_id }))
}

function userIdUpdateOf(one: Fields, receivedAt: string): AddressChange | undefined {
  const userId = fieldsOf(one["user_id"])
  const [from, to] = [addressOf(userId["previous"]), addressOf(one["wa_id"]) || addressOf(userId["current"])]
  if (from === "" || to === "" || from === to) return undefined
  return { from, to, at: timeOf(one["timestamp"], receivedAt), wording: textOf(one["detail"], 500), provider_id: `${from} ${to}` }
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

/** Reads a choice in WhatsApp's menu to stop or resume marketing messages. */
function preferenceOf(one: Fields, receivedAt: string): ReceivedPreference | undefined {
  const [wa_id, value] = [textOf(one["wa_id"], 40), textOf(one["value"], 40)]
  const address = /\d/.test(wa_id) ? plus(wa_id) : addressOf(one["user_id"])
  if (address === "" || (value !== "stop" && value !== "resume")) return undefined
  const wording = textOf(one["detail"], 500) || `${textOf(one["category"], 100)}: ${value}`
  return { address, kind: value === "stop" ? "opt_out" : "opt_in", at: timeOf(one["timestamp"], receivedAt), wording }
}
