// Messages to people: decisions of the gate, sending, and message states.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { patiently, until } from "../../waiting.ts"
import { businessId, connect, json, type Providers, providerEnv, type Sent, startProviders, take } from "./providers.ts"
import { forbidden, vetoing } from "./vetoes.ts"
import {
  chatMessage,
  conversationOf,
  type Endpoints,
  type Kind,
  type Message,
  makePipelines,
  messagesOf,
  own,
  postMeta,
  postTwilio,
} from "./webhooks.ts"

/** One in the afternoon in Berlin, and early morning in America. */
const [noon, minute, hour] = [Date.parse("2026-11-24T12:00:00Z"), 60_000, 3_600_000]

describe("writing to people", () => {
  let host: TestHost
  let urls: Endpoints
  let providers: Providers
  let count = 0
  before(async () => {
    providers = await startProviders()
    host = await testHost({ capture: false, plugins: [vetoing], env: providerEnv(providers) })
    urls = await makePipelines(host)
    const { status, body } = await host.api<{ inbound_url: string }>("PUT", "/v1/event-pipelines/webhooks-of-twilio", {
      pipeline: [{ type: "conversation.receive", provider: "twilio", message_id: "{{ query.message_id }}" }],
    })
    expect(status, JSON.stringify(body)).to.equal(200)
    await connect(host, providers, urls.twilio)
    host.clock.set(noon)
  })
  after(async () => {
    await host.stop()
    await providers.close()
  })
  beforeEach(() => {
    providers.instead = () => false
  })

  interface Answer {
    readonly message_id: string
    readonly send_at: string
    readonly state: string
    readonly details: { reason: string }
  }
  const person = () => `+49151${10_000_000 + ++count}`
  const send = (to: string, more: object = {}) =>
    patiently(() => host.api<Answer>("POST", "/v1/voice/messages", { channel: "chat_app", from: own, to, text: "Hello", ...more }))
  const accepted = async (to: string, more: object = {}) => {
    const { status, body } = await send(to, more)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const refused = async (to: string, more: object = {}) => {
    const { status, body } = await send(to, more)
    return [status, body.details.reason]
  }
  /** Returns a person who has just written. */
  const writing = async (more: { at?: number; body?: string } = {}, from = person()) => {
    const id = `wamid.e${++count}`
    const { status } = await patiently(() => postMeta(urls.meta, chatMessage(id, from, { at: host.clock.now(), body: "Hi", ...more })))
    expect(status).to.equal(200)
    return from
  }
  const text = async (from: string, Body: string) => {
    const fields = { MessageSid: `SMe${++count}`, From: from, To: own, Body, SmsStatus: "received" }
    expect((await patiently(() => postTwilio(urls.twilio, fields))).status).to.equal(200)
  }
  const inState = (kind: Kind, to: string, state: string) =>
    until(`a message to ${to} being ${state}`, async () => {
      const [newest] = (await messagesOf(host, kind, to)).filter(({ direction }) => direction === "out")
      return newest?.state === state ? newest : undefined
    })
  const counted = (kind: Kind, to: string, count: number) =>
    until(`the conversation with ${count} messages`, async () => {
      const conversation = await conversationOf(host, kind, to)
      return conversation?.message_count === count ? conversation : undefined
    })
  const lastSent = (kind: Kind, to: string, id: string) =>
    until(`the conversation with ${id}`, async () => {
      const conversation = await conversationOf(host, kind, to)
      return conversation?.last_outbound_message_id === id ? conversation : undefined
    })
  const sentTo = (to: string) => providers.sent.filter((message) => message.to === to)
  const status = (message: Sent, word: string, more: object = {}) =>
    postMeta(urls.meta, {
      statuses: [
        { id: message.provider_id, status: word, timestamp: String(host.clock.now() / 1_000), recipient_id: message.to.slice(1), ...more },
      ],
    })

  it("leave through Meta and Twilio, and take their reports in any order", async () => {
    const to = await writing()
    const { message_id } = await accepted(to)
    const accepting = await inState("chatapp", to, "accepted")
    const [message] = sentTo(to) as [Sent]
    expect(message).to.include({ channel: "chat_app", text: "Hello", message_id })
    expect(accepting).to.include({ id: message_id, provider_message_id: message.provider_id })
    for (const word of ["read", "sent", "read", "delivered"]) await status(message, word)
    await inState("chatapp", to, "read")
    const conversation = await until("the conversation telling of it", async () => {
      const match = await conversationOf(host, "chatapp", to)
      return match?.message_count === 2 ? match : undefined
    })
    expect(conversation).to.include({ last_outbound_message_id: message_id, agent_ref: "agent-1" })

    await accepted(to, { channel: "sms", text: "By text" })
    const queued = await inState("text", to, "accepted")
    const [sms] = sentTo(to).filter(({ channel }) => channel === "sms") as [Sent]
    expect(sms).to.include({ text: "By text", message_id: queued.id })
    const url = `${urls.twilio}?message_id=${queued.id}`
    await postTwilio(url, { MessageSid: sms.provider_id, MessageStatus: "delivered", To: to, From: own })
    await postTwilio(url, { MessageSid: sms.provider_id, MessageStatus: "sent", To: to, From: own })
    await inState("text", to, "delivered")
  })

  it("send once for one idempotency key", async () => {
    const to = await writing()
    const body = { channel: "chat_app", from: own, to, text: "Once" }
    const again = () => host.api<Answer>("POST", "/v1/voice/messages", body, { headers: { "idempotency-key": "send-once" } })
    const [first, second] = [await again(), await again()]
    expect(second.body).to.deep.equal(first.body)
    await inState("chatapp", to, "accepted")
    expect(sentTo(to)).to.have.length(1)
  })

  it("refuse who opted out, on that channel alone, from the moment the provider was answered until they opt in", async () => {
    const to = await writing()
    await text(to, "Hi")
    await writing({ body: "🛑 Stop!" }, to)
    expect(await refused(to)).to.deep.equal([400, "recipient_opted_out"])
    await accepted(to, { channel: "sms" })
    await inState("text", to, "accepted")
    host.clock.move(minute)
    await writing({ body: "START" }, to)
    await accepted(to)
    await inState("chatapp", to, "accepted")
    expect(sentTo(to).map(({ channel }) => channel)).to.deep.equal(["sms", "chat_app"])
  })

  it("refuse who opted out however their number is written", async () => {
    for (const [chat, dialled] of [
      ["+5215512345678", "+525512345678"],
      ["+551187654321", "+5511987654321"],
      ["+5491123456789", "+541123456789"],
    ] as const) {
      await writing({ body: "STOP" }, chat)
      expect(await refused(dialled), dialled).to.deep.equal([400, "recipient_opted_out"])
    }
  })

  it("refuse what another plugin forbids, and what has no connection", async () => {
    await writing({}, forbidden)
    expect(await refused(forbidden)).to.deep.equal([400, "send_vetoed"])
    expect(await refused(person(), { from: "+493012345600" })).to.deep.equal([404, "phone_number_not_found"])
    await host.api("POST", "/v1/voice/phone-numbers", { number: "+493012345601" })
    expect(await refused(person(), { from: "+493012345601" })).to.deep.equal([400, "channel_not_connected"])
    expect(await refused(person(), { text: "" })).to.deep.equal([400, "invalid_fields"])
    const template = { name: "hello", language: "en_US" }
    expect(await refused(person(), { text: "", channel: "sms", template })).to.deep.equal([400, "invalid_fields"])
    expect(await refused(person(), { text: "x".repeat(1_601), channel: "sms" })).to.deep.equal([400, "invalid_fields"])
  })

  it("keep to the 24-hour window, and after it to templates that Meta approved", async () => {
    const stranger = person()
    expect(await refused(stranger)).to.deep.equal([400, "window_closed"])
    const to = await writing({ at: host.clock.now() - 24 * hour })
    expect(await refused(to)).to.deep.equal([400, "window_closed"])
    await accepted(await writing({ at: host.clock.now() - 24 * hour + minute }))
    const hello = { text: "", template: { name: "hello", language: "en_US" } }
    expect(await refused(stranger, hello)).to.deep.equal([400, "template_not_approved"])
    const marketing = { category: "MARKETING", language: "en_US" }
    providers.templates = ["hello", "paused", "third"].map((name) => ({
      ...marketing,
      name,
      status: name === "paused" ? "PAUSED" : "APPROVED",
    }))
    const path = `/v1/voice/phone-numbers/${encodeURIComponent(own)}/templates`
    const refreshed = async (names: string[]) => {
      expect((await host.api("POST", path, {})).status).to.equal(200)
      await until(`the templates ${names.join()}`, async () => {
        const { body } = await host.api<{ templates: { name: string }[] }>("GET", path)
        return body.templates.map(({ name }) => name).join() === names.join()
      })
    }
    await refreshed(["hello", "paused", "third"])
    await accepted(stranger, hello)
    await inState("chatapp", stranger, "accepted")
    expect(sentTo(stranger).map((message) => message.text)).to.deep.equal(["template hello en_US"])
    const paused = { text: "", template: { name: "paused", language: "en_US" } }
    expect(await refused(stranger, paused)).to.deep.equal([400, "template_not_approved"])
    providers.templates = []
    await refreshed([])
    expect(await refused(stranger, hello)).to.deep.equal([400, "template_not_approved"])
    const bare = encodeURIComponent("+493012345601")
    const none = await host.api<Answer>("POST", `/v1/voice/phone-numbers/${bare}/templates`, {})
    expect([none.status, none.body.details.reason]).to.deep.equal([400, "no_business_account"])
  })

  it("leave no person more than a few messages to answer", async () => {
    const to = person()
    for (let n = 0; n < 5; n++) await accepted(to, { channel: "sms" })
    expect(await refused(to, { channel: "sms" })).to.deep.equal([429, "recipient_limit"])
    await text(to, "Yes?")
    await accepted(to, { channel: "sms" })
    await until("all being sent", () => sentTo(to).length === 6)
  })

  it("wait for the end of quiet hours where the person is, unless they have just written", async () => {
    const american = "+14155550123"
    const answer = await accepted(american, { channel: "sms", text: "Morning" })
    // Eight in the morning in California.
    expect(Date.parse(answer.send_at)).to.equal(noon + 4 * hour)
    // A known time zone of the lead takes precedence.
    const traveller = "+14155550126"
    const lead = (time_zone: string) => host.api<Answer>("POST", "/v1/leads", { phone: traveller, time_zone })
    expect((await lead("Berlin")).status).to.equal(400)
    expect((await lead("Asia/Tokyo")).body).to.include({ time_zone: "Asia/Tokyo" })
    expect(Date.parse((await accepted(traveller, { channel: "sms" })).send_at)).to.equal(noon + 11 * hour)
    expect((await lead("Europe/Berlin")).body).to.include({ time_zone: "Europe/Berlin" })
    expect(Date.parse((await accepted(traveller, { channel: "sms" })).send_at)).to.equal(host.clock.now())
    expect(await refused(american, { channel: "sms", quiet_hours: "refuse" })).to.deep.equal([400, "quiet_hours"])
    const awake = "+14155550124"
    await text(awake, "Hi")
    await accepted(awake, { channel: "sms", quiet_hours: "refuse" })
    await inState("text", awake, "accepted")
    // An opt-out that arrives while the message waits.
    const refusing = "+14155550125"
    await accepted(refusing, { channel: "sms" })
    await text(refusing, "STOP")
    expect(sentTo(american)).to.deep.equal([])
    host.clock.move(7 * hour)
    await inState("text", american, "accepted")
    expect((await inState("text", refusing, "refused")).error?.code).to.equal("recipient_opted_out")
    expect(sentTo(refusing)).to.deep.equal([])
    host.clock.set(noon + 24 * hour)
    await until("both messages to who is elsewhere", () => sentTo(traveller).length === 2)
  })

  it("take a carrier's word that a person refused", async () => {
    const [sms, chat] = [person(), await writing()]
    providers.instead = (_, response) => {
      json(response, 400, { code: 21610, message: "Attempt to send to unsubscribed recipient", status: 400 })
      return true
    }
    await accepted(sms, { channel: "sms" })
    expect((await inState("text", sms, "failed")).error?.code).to.equal("21610")
    expect(await refused(sms, { channel: "sms" })).to.deep.equal([400, "recipient_opted_out"])
    providers.instead = () => false
    await accepted(chat)
    await inState("chatapp", chat, "accepted")
    const errors = [{ code: 131050, title: "Unable to deliver the message", error_data: { details: "Stopped marketing" } }]
    await status(sentTo(chat)[0] as Sent, "failed", { errors })
    expect((await inState("chatapp", chat, "failed")).error).to.deep.equal({ code: "131050", message: "Stopped marketing" })
    await until("the opt-out", async () => (await conversationOf(host, "chatapp", chat))?.suppressed)
    expect(await refused(chat)).to.deep.equal([400, "recipient_opted_out"])
    const ledger = await host.api<{ opt_outs: object[] }>("GET", `/v1/voice/opt-outs?channel=chat_app&address=${encodeURIComponent(chat)}`)
    expect(ledger.body.opt_outs[0]).to.include({ source: "carrier_error", wording: "131050 Stopped marketing" })
  })

  it("try again what was certainly not taken, and say so of what was refused", async () => {
    const [to, wrong] = [await writing(), await writing()]
    let limited = 0
    providers.instead = (message, response) => {
      if (message.to === wrong) json(response, 400, { error: { code: 131026, message: "Message undeliverable" } })
      else if (limited++ < 2) json(response, 400, { error: { code: 130429, message: "Rate limit hit" } })
      else return false
      return true
    }
    await accepted(to)
    await accepted(wrong)
    expect((await inState("chatapp", wrong, "failed")).error).to.deep.equal({ code: "131026", message: "Message undeliverable" })
    // A call in flight would time out by the moved clock.
    const takeIt = () => {
      if (limited < 3) host.clock.move(1_000)
      return sentTo(to).length === 1
    }
    await until("it being taken", takeIt, { everyMs: 200 })
    await inState("chatapp", to, "accepted")
    expect(limited).to.equal(3)
    host.clock.set(noon + 48 * hour)
  })

  it("are unknown, and not sent again, where the provider does not say; until it does", async () => {
    const [lost, never, sms] = [await writing(), await writing(), person()]
    const broken: Sent[] = []
    providers.instead = (message, response) => {
      broken.push(message)
      response.destroy()
      return true
    }
    for (const to of [lost, never]) await accepted(to)
    await accepted(sms, { channel: "sms" })
    await inState("chatapp", lost, "unknown")
    const unknown = await inState("chatapp", never, "unknown")
    const text = await inState("text", sms, "unknown")
    expect(unknown).to.include({ provider_message_id: "" })
    const of = (to: string) => broken.filter((message) => message.to === to) as [Sent]
    await status(of(lost)[0], "delivered", { biz_opaque_callback_data: of(lost)[0].message_id })
    expect(await inState("chatapp", lost, "delivered")).to.include({ provider_message_id: of(lost)[0].provider_id })
    const fields = { MessageSid: of(sms)[0].provider_id, MessageStatus: "sent", To: sms, From: own }
    await postTwilio(`${urls.twilio}?message_id=${text.id}`, fields)
    await inState("text", sms, "sent")
    host.clock.move(hour)
    expect([lost, never, sms].map((to) => of(to).length)).to.deep.equal([1, 1, 1])
    expect((await inState("chatapp", never, "unknown")).error?.code).to.equal("unknown")
  })

  it("settle when a status arrives before the provider's own answer", async () => {
    const to = await writing()
    let answer: () => void = () => undefined
    let first: Sent | undefined
    providers.instead = (outgoing, response) => {
      first = outgoing
      answer = () => take(outgoing, response)
      return true
    }
    await accepted(to)
    const request = await until("the call", () => first)
    await status(request, "delivered")
    answer()
    const message: Message = await inState("chatapp", to, "delivered")
    expect(message.provider_message_id).to.equal(request.provider_id)
  })

  it("change the conversation when they are sent, on both channels", async () => {
    host.clock.set(noon + 72 * hour)
    const american = "+14155550128"
    await text(american, "Hello?")
    await counted("text", american, 1)
    host.clock.move(2 * hour)
    const { message_id } = await accepted(american, { channel: "sms" })
    await inState("text", american, "queued")
    await text(american, "Anybody?")
    const nothing = { sender_kind: "person", last_outbound_at: null, last_outbound_message_id: "" }
    expect(await counted("text", american, 2)).to.include(nothing)
    host.clock.set(noon + 77 * hour)
    await inState("text", american, "accepted")
    const conversation = await counted("text", american, 3)
    expect(conversation).to.include({ last_outbound_message_id: message_id, sender_kind: "organization" })
    expect(Date.parse(conversation.last_outbound_at ?? "")).to.be.at.least(noon + 77 * hour)

    // An undelivered message to a person who has not written.
    const stranger = person()
    providers.instead = (_, response) => {
      json(response, 400, { code: 21211, message: "Invalid To" })
      return true
    }
    await accepted(stranger, { channel: "sms" })
    await inState("text", stranger, "failed")
    expect(await conversationOf(host, "text", stranger)).to.include({ ...nothing, message_count: 0, sender_kind: "" })
    await text(stranger, "Hi")
    expect(await counted("text", stranger, 1)).to.include(nothing)
    const chat = await writing()
    providers.instead = (_, response) => {
      json(response, 400, { error: { code: 131026, message: "Message undeliverable" } })
      return true
    }
    await accepted(chat)
    await inState("chatapp", chat, "failed")
    await writing({}, chat)
    expect(await counted("chatapp", chat, 2)).to.include(nothing)

    // The provider may have sent an unanswered message, and it reports the failure of an accepted one.
    providers.instead = (_, response) => {
      response.destroy()
      return true
    }
    const unknown = await accepted(chat)
    await inState("chatapp", chat, "unknown")
    await lastSent("chatapp", chat, unknown.message_id)
    providers.instead = () => false
    const later = await accepted(chat)
    await inState("chatapp", chat, "accepted")
    await status(sentTo(chat)[0] as Sent, "failed", { errors: [{ code: 131026, title: "Message undeliverable" }] })
    await inState("chatapp", chat, "failed")
    expect(await lastSent("chatapp", chat, later.message_id)).to.include({ message_count: 4 })
  })

  it("wait for a person's approval where the organization asks for it", async () => {
    const to = await writing()
    await host.api("PUT", "/v1/autonomy-gates", { gates: ["conversations.send"] })
    const answer = await accepted(to)
    expect(answer).to.include({ state: "pending_approval", message_id: null })
    expect(sentTo(to)).to.deep.equal([])
    expect((await host.api("PUT", "/v1/autonomy-gates", { gates: [] })).status).to.equal(200)
  })

  it("never show or log a provider's token", () => {
    expect(host.logged.join("\n")).to.not.contain("meta-token")
    expect(businessId).to.not.equal("")
  })
})
