// Meta's Cloud API and Twilio on loopback. They accept messages by their protocols and answer as the test decides.
import type { ServerResponse } from "node:http"
import type { TestHost } from "#core/testing"
import { listen, type Peer, type PeerRequest } from "../outgoing-http/loopback-peer.ts"
import { own, phoneNumberId } from "./webhooks.ts"

export const accountSid = "AC00000000000000000000000000000001"
export const businessId = "102290129340398"

export interface Sent {
  readonly channel: "chat_app" | "sms"
  readonly to: string
  readonly text: string
  readonly provider_id: string
  /** This service's id of the message, as received; empty if absent. */
  readonly message_id: string
}

/** Replaces the acceptance of a message. Returns true if it sent an answer. */
export type Instead = (message: Sent, response: ServerResponse) => boolean

export interface Providers {
  readonly peer: Peer
  /** Accepted messages. */
  readonly sent: Sent[]
  instead: Instead
  templates: { name: string; language: string; status: string; category: string }[]
  close(): Promise<void>
}

export async function startProviders(): Promise<Providers> {
  let count = 0
  const providers: Providers = {
    sent: [],
    templates: [],
    instead: () => false,
    peer: await listen((request, response) => {
      const message = request.method === "POST" ? readSent(request, String(++count)) : undefined
      if (request.method === "GET") answerTemplates(providers, request, response)
      else if (!message) json(response, 400, { error: { code: 100, message: "Invalid parameter" } })
      else if (!providers.instead(message, response)) {
        providers.sent.push(message)
        take(message, response)
      }
    }),
    close: () => providers.peer.close(),
  }
  return providers
}

export function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

export function take({ channel, to, provider_id }: Sent, response: ServerResponse): void {
  const contacts = [{ input: to, wa_id: to.slice(1) }]
  if (channel === "sms") json(response, 201, { sid: provider_id, status: "queued", error_code: null })
  else json(response, 200, { messaging_product: "whatsapp", contacts, messages: [{ id: provider_id }] })
}

function readSent({ url, headers, body }: PeerRequest, id: string): Sent | undefined {
  if (url === `/v23.0/${phoneNumberId}/messages` && headers.authorization === "Bearer meta-token") {
    const message = JSON.parse(body) as {
      messaging_product: string
      to?: string
      recipient?: string
      type: string
      text?: { body: string }
      template?: { name: string; language: { code: string } }
      biz_opaque_callback_data: string
    }
    if (message.messaging_product !== "whatsapp" || message[message.type as "text"] === undefined) return undefined
    const text = message.text?.body ?? `template ${message.template?.name} ${message.template?.language.code}`
    const to = message.to ?? message.recipient ?? ""
    return { channel: "chat_app", to, text, provider_id: `wamid.sent${id}`, message_id: message.biz_opaque_callback_data }
  }
  const basic = `Basic ${Buffer.from(`${accountSid}:twilio-token`).toString("base64")}`
  if (url === `/2010-04-01/Accounts/${accountSid}/Messages.json` && headers.authorization === basic) {
    const form = new URLSearchParams(body)
    const callback = form.get("StatusCallback")
    const message_id = callback === null ? "" : (new URL(callback).searchParams.get("message_id") ?? "")
    return { channel: "sms", to: form.get("To") ?? "", text: form.get("Body") ?? "", provider_id: `SMsent${id}`, message_id }
  }
  return undefined
}

/** Two per page. */
function answerTemplates({ templates }: Providers, { url }: PeerRequest, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url, "http://loopback")
  const isAsked = pathname === `/v23.0/${businessId}/message_templates`
  const from = Number(searchParams.get("after") ?? "0")
  const more = from + 2 < templates.length
  const paging = { cursors: { after: String(from + 2) }, ...(more ? { next: "https://elsewhere.test/next" } : {}) }
  json(response, isAsked ? 200 : 404, { data: templates.slice(from, from + 2), paging })
}

/** Settings that allow the service to reach them. */
export function providerEnv({ peer }: Providers): Record<string, string> {
  return { MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${peer.port}` }
}

type Api = Pick<TestHost, "api">

/** Creates connections to both providers and the number, and removes all gates. */
export async function connect({ api }: Api, { peer }: Providers, statusCallbackUrl = ""): Promise<void> {
  const ok = async (method: string, path: string, body: object) => {
    const answer = await api(method, path, body)
    if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
  }
  const basic = Buffer.from(`${accountSid}:twilio-token`).toString("base64")
  for (const [name, base_url, authorization] of [
    ["meta", `${peer.origin}/v23.0`, "Bearer meta-token"],
    ["twilio", peer.origin, `Basic ${basic}`],
  ] as const) {
    const credentials = { base_url, headers: { Authorization: authorization } }
    await ok("POST", "/v1/integrations-connect", { app: "http", name, share_with_org: true, credentials })
  }
  await ok("POST", "/v1/voice/phone-numbers", {
    number: own,
    agent_ref: "agent-1",
    chat_app: { integration: "meta", phone_number_id: phoneNumberId, business_account_id: businessId },
    sms: { integration: "twilio", account_sid: accountSid, status_callback_url: statusCallbackUrl },
  })
  await ok("PUT", "/v1/autonomy-gates", { gates: [] })
}
