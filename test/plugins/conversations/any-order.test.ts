// Webhooks of both providers in any order, grouping and number produce the same conversations, byte for byte. The state is reset
// between two orders, so even the ids are equal.
import { expect } from "chai"
import fc from "fast-check"
import { type Document, Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { JobCollection } from "../../../core/jobs/jobs-collection.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { byTier, seed } from "../../tier.ts"
import { patiently, until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { connect, type Providers, providerEnv, startProviders } from "./providers.ts"
import {
  chatMessage,
  conversationsOf,
  type Endpoints,
  type Kind,
  type MetaValue,
  makePipelines,
  metaPayload,
  own,
  postMetaPayload,
  postTwilio,
} from "./webhooks.ts"

const noon = Date.parse("2026-11-24T12:00:00Z")
const minute = 60_000
const person = "+4915177700001"
const kinds: readonly Kind[] = ["chatapp", "text"]

/** One part of a provider's webhook. */
type Part = { readonly meta: MetaValue } | { readonly twilio: Readonly<Record<string, string>>; readonly query?: string }

interface Sent {
  readonly provider_id: string
  readonly message_id: string
}

onBothStores("webhooks in any order", (leg) => {
  let host: TestHost
  let providers: Providers
  let urls: Endpoints
  let parts: Part[]
  let sentOnly: Map<string, Document[]>
  before(async () => {
    providers = await startProviders()
    host = await leg.start({ env: { ...providerEnv(providers), MILLRACE_JOBS_POLL_MS: "50" } })
    urls = await makePipelines(host)
    const pipeline = [{ type: "conversation.receive", provider: "twilio", message_id: "{{ query.message_id }}" }]
    await host.api("PUT", "/v1/event-pipelines/webhooks-of-twilio", { pipeline })
    await connect(host, providers, urls.twilio)
    host.clock.set(noon)
    await deliver([{ meta: messageOf("hi", -10, { body: "Hi" }) }])
    await deliver([{ twilio: text("hi", "Hi") }])
    parts = [...received, ...reports(await sendAll("chat_app"), await sendAll("sms"))]
    await whenSettled()
    sentOnly = await everything()
  })
  after(() => providers.close())

  const messageOf = (id: string, minutes: number, more: object) =>
    chatMessage(`wamid.o-${id}`, person, { at: noon + minutes * minute, ...more })
  const text = (id: string, Body: string, more: object = {}) => ({
    ...{ MessageSid: `SMo-${id}`, From: person, To: own, Body, SmsStatus: "received", ...more },
  })
  const chosen = (value: string, minutes: number) => ({
    user_preferences: [{ wa_id: person.slice(1), category: "marketing", value, timestamp: String(noon / 1_000 + minutes * 60) }],
  })

  /** Messages of the same second, of long ago, with answers and changes, and opt-outs and opt-ins. */
  const received: Part[] = [
    { meta: messageOf("late", -600, { name: "Long ago", body: "First of all" }) },
    { meta: messageOf("same1", -3, { name: "One", body: "Same second" }) },
    { meta: messageOf("same2", -3, { name: "Two", body: "Same second, too" }) },
    { meta: messageOf("place", -4, { type: "location", body: { latitude: 52.5, longitude: 13.4, name: "Berlin" } }) },
    { meta: messageOf("like", -3, { type: "reaction", body: { message_id: "wamid.o-hi", emoji: "👍" } }) },
    { meta: messageOf("unlike", -2, { type: "reaction", body: { message_id: "wamid.o-hi", emoji: "" } }) },
    {
      meta: messageOf("edit", -1.9, {
        type: "edit",
        body: { original_message_id: "wamid.o-same1", message: { text: { body: "Edited" } } },
      }),
    },
    { meta: messageOf("revoke", -1.8, { type: "revoke", body: { original_message_id: "wamid.o-same2" } }) },
    { meta: messageOf("file", -5, { type: "image", body: { id: "media-1", mime_type: "image/png", caption: "Look" } }) },
    { meta: messageOf("stop", -6, { body: "STOP" }) },
    { meta: messageOf("start", -6, { body: "START" }) },
    { meta: chosen("stop", -8) },
    { meta: chosen("resume", -7) },
    { twilio: text("a", "One") },
    { twilio: text("b", "Stop") },
    { twilio: text("c", "yes", { OptOutType: "START" }) },
    { twilio: text("d", "", { NumMedia: "1", MediaUrl0: "http://127.0.0.1:1/file", MediaContentType0: "image/png" }) },
  ]

  /** Sends three messages with a confirmation of the provider and one without. */
  async function sendAll(channel: "chat_app" | "sms"): Promise<Sent[]> {
    const messages: Sent[] = []
    providers.instead = (message, response) => {
      messages.push(message)
      if (message.text === "3") response.destroy()
      return message.text === "3"
    }
    for (let n = 0; n < 4; n++) {
      const request = { channel, from: own, to: person, text: String(n) }
      const { status, body } = await patiently(() => host.api("POST", "/v1/voice/messages", request))
      expect(status, JSON.stringify(body)).to.equal(200)
      await until("the call", () => messages.length === n + 1)
    }
    return messages
  }

  function reports(chat: readonly Sent[], sms: readonly Sent[]): Part[] {
    const statusOf = ({ provider_id: id, message_id }: Sent, status: string, more: object = {}): Part => ({
      meta: { statuses: [{ id, status, timestamp: String(noon / 1_000), biz_opaque_callback_data: message_id, ...more }] },
    })
    const failed = (code: number, title: string) => ({ errors: [{ code, title }] })
    const textStatusOf = ({ provider_id, message_id }: Sent, MessageStatus: string, more: object = {}): Part => ({
      twilio: { MessageSid: provider_id, MessageStatus, To: person, From: own, ...more },
      query: `?message_id=${message_id}`,
    })
    const stranger = { provider_id: "wamid.of-somebody-else", message_id: "" }
    return [
      ...["sent", "delivered", "read"].map((state) => statusOf(chat[0] as Sent, state)),
      ...[failed(131026, "Undeliverable"), failed(131047, "Window")].map((more) => statusOf(chat[1] as Sent, "failed", more)),
      ...[statusOf(chat[2] as Sent, "failed", failed(131050, "Stopped marketing")), statusOf(chat[2] as Sent, "sent")],
      ...["delivered", "sent"].map((state) => statusOf(chat[3] as Sent, state)),
      statusOf(stranger, "read"),
      ...["queued", "sent", "delivered"].map((state) => textStatusOf(sms[0] as Sent, state)),
      ...[textStatusOf(sms[1] as Sent, "undelivered", { ErrorCode: "30003" }), textStatusOf(sms[1] as Sent, "sent")],
      textStatusOf(sms[2] as Sent, "failed", { ErrorCode: "21610", ErrorMessage: "Unsubscribed" }),
      ...["sent", "delivered"].map((state) => textStatusOf(sms[3] as Sent, state)),
    ]
  }

  /** Delivers Meta's parts together and Twilio's one by one. */
  async function deliver(group: readonly Part[]): Promise<void> {
    const entry = group.flatMap((part) => ("meta" in part ? metaPayload(part.meta).entry : []))
    const calls = group.flatMap((part) => ("twilio" in part ? [() => postTwilio(urls.twilio + (part.query ?? ""), part.twilio)] : []))
    if (entry.length > 0) calls.push(() => postMetaPayload(urls.meta, { object: "whatsapp_business_account", entry }))
    for (const call of calls) expect((await patiently(call)).status).to.equal(200)
  }

  /** Waits until all updates are done. */
  async function whenSettled(): Promise<void> {
    const types = ["conversations.fold", "conversations.settle", "conversations.media", "conversations.send"]
    await until("every job being done", async () => {
      const remaining = await host
        .get(Store)
        .open(JobCollection)
        .find({ type: { $in: types } })
      expect(remaining.filter(({ state }) => state === "dead")).to.deep.equal([])
      // Two conflicting jobs retry a moment later.
      host.clock.move(1_000)
      return remaining.length === 0
    })
    host.clock.set(noon)
  }

  const stored = ["conversations", "messages", "receipts", "opt_outs", "opt_out_states"].flatMap((name) =>
    kinds.map((kind) => `${kind}_${name}`),
  )

  async function everything(): Promise<Map<string, Document[]>> {
    const read = async (name: string) => {
      const matches = await host.get(Store).open(collectionNamed(host, name), host.organization.id).find({}, { limit: 500 })
      return [name, matches.map(({ organization_id: _organization, ...doc }) => doc as Document)] as const
    }
    return new Map(await Promise.all(stored.map(read)))
  }

  async function putBack(): Promise<void> {
    const now = await everything()
    const writes = (
      docs: Map<string, Document[]>,
      make: (doc: Document) => { kind: "remove"; id: string } | { kind: "insert"; doc: Document },
    ) =>
      stored.flatMap((name) =>
        (docs.get(name) ?? []).map((doc) => ({
          ...make(doc),
          collection: collectionNamed(host, name),
          organization: host.organization.id,
        })),
      )
    const commit = (created: ReturnType<typeof writes>) =>
      host.get(UnitsOfWork).run((work) => {
        for (const write of created) work.write(write)
      })
    await commit(writes(now, ({ id }) => ({ kind: "remove", id })))
    await commit(writes(sentOnly, (doc) => ({ kind: "insert", doc })))
  }

  /** Returns all readable data of the person, as text. */
  async function readModel(): Promise<string> {
    const read = kinds.map(async (kind) => {
      const [conversation] = await conversationsOf(host, kind)
      const get = (path: string) => patiently(() => host.api("GET", `/v1/voice/${path}`))
      const whole = await get(`${kind}-conversations/${conversation?.session_id}?limit=200`)
      // Messages of the same time are in order of arrival, and that order differs here.
      const { messages } = whole.body as { messages: { at: string; id: string }[] }
      messages.sort((a, b) => (`${a.at} ${a.id}` < `${b.at} ${b.id}` ? -1 : 1))
      const optOuts = await get(`opt-outs?channel=${kind === "text" ? "sms" : "chat_app"}&limit=200`)
      return { conversation, whole: whole.body, ledger: optOuts.body }
    })
    // The time of recording an opt-out belongs to the service, so it is excluded.
    return JSON.stringify(await Promise.all(read), (name, value) => (name === "recorded_at" ? undefined : value), 1)
  }

  it("are the same conversations, messages, delivery states and ledgers", async () => {
    for (const part of parts) await deliver([part])
    await whenSettled()
    const expected = await readModel()
    const states = [...expected.matchAll(/"direction": "out"[^}]*?"state": "(\w+)"/g)].map(([, state]) => state)
    expect(states.sort()).to.deep.equal(["delivered", "delivered", "delivered", "failed", "failed", "failed", "failed", "read"])
    expect(expected.match(/"suppressed": true/g)).to.have.length(4)

    const orders = fc.tuple(
      fc.shuffledSubarray(parts, { minLength: parts.length, maxLength: parts.length }),
      fc.subarray(parts),
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 8 }),
      fc.boolean(),
    )
    const property = fc.asyncProperty(orders, async ([drawn, again, sizes, atOnce]) => {
      await putBack()
      const all = [...drawn, ...again]
      const groups: Part[][] = []
      for (let at = 0, n = 0; at < all.length; n++) {
        const size = sizes[n % sizes.length] ?? 1
        groups.push(all.slice(at, at + size))
        at += size
      }
      if (atOnce) await Promise.all(groups.map(deliver))
      else for (const group of groups) await deliver(group)
      await whenSettled()
      const [found, wanted] = [(await readModel()).split("\n"), expected.split("\n")]
      const differing = found.map((line, at) => `${at}: ${line} instead of ${wanted[at]}`).filter((_, at) => found[at] !== wanted[at])
      expect(differing.slice(0, 10)).to.deep.equal([])
    })
    await fc.assert(property, { numRuns: byTier({ fast: 2, slow: 8, soak: 100 }), seed })
  }).timeout(3_600_000)
})
