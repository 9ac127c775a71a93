// Signed webhooks in the form of Meta and Twilio, and the pipelines that receive them.
import { createHmac } from "node:crypto"
import type { TestHost } from "#core/testing"
import { patiently } from "../../waiting.ts"

const appSecret = "meta-app-secret-1"
const authToken = "twilio-auth-token"
export const phoneNumberId = "106540352242922"
/** The service's own number, and its form in Meta's webhooks. */
export const own = "+493012345678"

export interface Endpoints {
  readonly meta: string
  readonly twilio: string
}

/** Creates pipelines for both providers and returns their inbound URLs. */
export async function makePipelines(host: TestHost): Promise<Endpoints> {
  const make = async (provider: string, secret: string, more: object = {}) => {
    const { body, status } = await host.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: `Webhooks of ${provider}`,
      state: "active",
      source_kind: "third_party_webhook",
      auth_mode: "provider_signature",
      auth_config: { provider, secret, ...more },
      pipeline: [{ type: "conversation.receive", provider }],
    })
    if (status !== 200) throw new Error(JSON.stringify(body))
    return body.inbound_url
  }
  return { meta: await make("meta_whatsapp", appSecret, { verify_token: "verify-me" }), twilio: await make("twilio", authToken) }
}

export interface MetaValue {
  readonly messages?: readonly object[]
  readonly statuses?: readonly object[]
  readonly user_preferences?: readonly object[]
  readonly contacts?: readonly object[]
  readonly phone_number_id?: string
}

export function metaPayload({ phone_number_id = phoneNumberId, ...value }: MetaValue) {
  const metadata = { display_phone_number: own.slice(1), phone_number_id }
  const changes = [{ field: "messages", value: { messaging_product: "whatsapp", metadata, ...value } }]
  return { object: "whatsapp_business_account", entry: [{ id: "102290129340398", changes }] }
}

/** Returns a message of the chat app. `body` is a text, or the object under its type. */
export function chatMessage(id: string, from: string, { at, name = "", type = "text", body = {}, ...more }: ChatMessage): MetaValue {
  const wa_id = from.replace("+", "")
  const timestamp = String(Math.floor(at / 1_000))
  const content = typeof body === "string" ? { body } : body
  return {
    messages: [{ id, from: wa_id, timestamp, type, [type]: content, ...more }],
    contacts: [{ wa_id, profile: name === "" ? {} : { name } }],
  }
}

interface ChatMessage {
  readonly at: number
  readonly name?: string
  readonly type?: string
  readonly body?: string | object
  readonly context?: object
  readonly referral?: object
}

export function postMeta(url: string, value: MetaValue, secret = appSecret): Promise<Response> {
  return postMetaPayload(url, metaPayload(value), secret)
}

export async function postMetaPayload(url: string, payload: object, secret = appSecret): Promise<Response> {
  const body = JSON.stringify(payload)
  const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`
  const headers = { "content-type": "application/json", "x-hub-signature-256": signature }
  return fetch(url, { method: "POST", headers, body })
}

export async function postTwilio(url: string, fields: Readonly<Record<string, string>>, token = authToken): Promise<Response> {
  const sorted = Object.keys(fields)
    .sort()
    .map((name) => name + fields[name])
    .join("")
  const signature = createHmac("sha1", token)
    .update(url + sorted)
    .digest("base64")
  const headers = { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": signature }
  return fetch(url, { method: "POST", headers, body: new URLSearchParams(fields).toString() })
}

export interface Conversation {
  readonly session_id: string
  readonly address: string
  readonly phone_number: string
  readonly display_name: string
  readonly agent_ref: string
  readonly canonical_lead_id: string
  readonly lead_reference: string
  readonly message_count: number
  readonly suppressed: boolean
  readonly last_inbound_at: string | null
  readonly last_outbound_at: string | null
  readonly last_outbound_message_id: string
  readonly sender_kind: string
  readonly idle_closed_at: string | null
  readonly contact: Readonly<Record<string, string>>
  readonly summary: string
  readonly topics: string[] | null
}

export interface Message {
  readonly id: string
  readonly direction: string
  readonly kind: string
  readonly text: string
  readonly state: string
  readonly provider_message_id: string
  readonly error: { code: string; message: string } | null
  readonly media: readonly { state: string; problem: string; size: number; media_type: string; url: string }[]
  readonly [name: string]: unknown
}

export type Kind = "chatapp" | "text"

export async function conversationsOf(host: TestHost, kind: Kind, query = ""): Promise<Conversation[]> {
  const path = `/v1/voice/${kind}-conversations?${query}`
  const { body, status } = await patiently(() => host.api<{ conversations: Conversation[] }>("GET", path))
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.conversations
}

export async function conversationOf(host: TestHost, kind: Kind, address: string): Promise<Conversation | undefined> {
  return (await conversationsOf(host, kind, `address=${encodeURIComponent(address)}`))[0]
}

/** Newest first. */
export async function messagesOf(host: TestHost, kind: Kind, address: string): Promise<Message[]> {
  const conversation = await conversationOf(host, kind, address)
  if (!conversation) return []
  const path = `/v1/voice/${kind}-conversations/${conversation.session_id}?limit=200`
  return (await patiently(() => host.api<{ messages: Message[] }>("GET", path))).body.messages
}
