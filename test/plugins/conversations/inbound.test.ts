// Provider webhooks become conversations: each part once, in any order, and only with a valid signature.
import { expect } from "chai"
import fc from "fast-check"
import { type Json, timestamp, UnitsOfWork } from "#core"
import { StagedWork } from "#core/engine"
import type { TestHost } from "#core/testing"
import { Receiver } from "../../../plugins/people/conversations/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { refusalOf } from "../../refusal.ts"
import { isSoak } from "../../tier.ts"
import { until } from "../../waiting.ts"
import {
  chatMessage,
  conversationOf,
  conversationsOf,
  type Endpoints,
  type MetaValue,
  makePipelines,
  messagesOf,
  metaPayload,
  own,
  phoneNumberId,
  postMeta,
  postTwilio,
} from "./webhooks.ts"

const minute = 60_000
const start = Date.now() - 3_600_000

onBothStores("inbound conversations", (leg) => {
  let host: TestHost
  let urls: Endpoints
  before(async () => {
    host = await leg.start()
    urls = await makePipelines(host)
  })

  const take = async (value: MetaValue) => {
    const { status } = await postMeta(urls.meta, value)
    expect(status).to.equal(200)
  }
  const counted = (kind: "chatapp" | "text", address: string, count: number) =>
    until(`${count} messages of ${address}`, async () => {
      const conversation = await conversationOf(host, kind, address)
      return conversation?.message_count === count ? conversation : undefined
    })

  it("answer Meta's handshake, and refuse what is not signed", async () => {
    const response = await fetch(`${urls.meta}?hub.mode=subscribe&hub.verify_token=verify-me&hub.challenge=1158201444`)
    expect([response.status, await response.text()]).to.deep.equal([200, "1158201444"])
    const forged = await postMeta(urls.meta, chatMessage("wamid.f", "+4915100000000", { at: start, body: "Hi" }), "guessed")
    expect(forged.status).to.equal(401)
    const sms = { MessageSid: "SMf", From: "+4915100000000", To: own, Body: "Hi" }
    expect((await postTwilio(urls.twilio, sms, "guessed")).status).to.equal(401)
    expect(await conversationsOf(host, "chatapp", "address=%2B4915100000000")).to.deep.equal([])
    expect(await conversationsOf(host, "text", "address=%2B4915100000000")).to.deep.equal([])
  })

  it("carry text, location, context, referral, reaction, button, media and what else there is", async () => {
    const person = "+4915111111111"
    const takeMessage = (id: string, n: number, more: object) =>
      take(chatMessage(id, person, { at: start + n * minute, name: "Ada L.", ...more }))
    const referral = {
      source_type: "ad",
      source_id: "120",
      source_url: "https://fb.me/x",
      headline: "Offer",
      body: "Now",
      ctwa_clid: "clid",
    }
    await takeMessage("wamid.a1", 1, { body: "Hello", referral })
    await takeMessage("wamid.a2", 2, { type: "location", body: { latitude: 52.52, longitude: 13.4, name: "Office", address: "Mitte" } })
    await takeMessage("wamid.a3", 3, { body: "Yes", context: { from: own.slice(1), id: "wamid.a1" } })
    await takeMessage("wamid.a4", 4, { type: "reaction", body: { message_id: "wamid.a1", emoji: "👍" } })
    await takeMessage("wamid.a5", 5, { type: "button", body: { text: "Call me", payload: "call" } })
    await takeMessage("wamid.a6", 6, { type: "interactive", body: { type: "button_reply", button_reply: { id: "b1", title: "Tomorrow" } } })
    await takeMessage("wamid.a7", 7, { type: "contacts", body: [{ name: { formatted_name: "Bob" }, phones: [{ phone: "+1" }] }] })
    await takeMessage("wamid.a8", 8, { type: "location", body: { latitude: 520, longitude: 13.4 } })
    await takeMessage("wamid.a9", 9, { type: "unheard_of", body: { a: 1 } })
    await counted("chatapp", person, 9)
    const [unknown, nowhere, contacts, interactive, button, reaction, yes, location, hello] = await messagesOf(host, "chatapp", person)
    expect(hello).to.deep.include({ direction: "in", kind: "text", text: "Hello", profile_name: "Ada L.", state: "received" })
    const { ctwa_clid, ...ad } = referral
    expect(hello?.["referral"]).to.deep.equal({ ...ad, click_id: ctwa_clid })
    expect(location?.["location"]).to.deep.equal({ latitude: 52.52, longitude: 13.4, name: "Office", address: "Mitte" })
    expect(yes?.["context"]).to.deep.equal({ provider_message_id: "wamid.a1", forwarded: false })
    expect(reaction).to.deep.include({ kind: "reaction", reaction: { provider_message_id: "wamid.a1", emoji: "👍" } })
    expect(button).to.include({ kind: "button", text: "Call me" })
    expect(interactive).to.include({ kind: "interactive", text: "Tomorrow" })
    expect(contacts).to.deep.include({ content: [{ name: { formatted_name: "Bob" }, phones: [{ phone: "+1" }] }] })
    expect(nowhere).to.deep.include({ kind: "location", location: null })
    expect(unknown).to.deep.include({ kind: "other", content: { a: 1 } })
  })

  it("are the same conversation in any order of their deliveries, and however often each comes", async () => {
    let round = 0
    const property = fc.asyncProperty(fc.infiniteStream(fc.nat()), async (numbers) => {
      const draw = (below: number) => (numbers.next().value ?? 0) % below
      const people = [`+49151222${1_000 + round * 2}`, `+49151222${1_001 + round * 2}`]
      const results: unknown[] = []
      for (const [place, person] of people.entries()) {
        const id = (n: number) => `wamid.p${round}-${place}-${n}`
        const texts = ["Hi", "Stop", "Start please", "I will stop by", "🛑 STOP!", "ok"]
        const deliveries = texts.map((body, n) =>
          chatMessage(id(n), person, { at: start + n * minute, name: n === 4 ? "" : `Name ${n}`, body }),
        )
        const drawn = place === 0 ? deliveries : shuffled([...deliveries, ...deliveries.filter(() => draw(2) === 0)], draw)
        for (const value of drawn) await take(value)
        const {
          session_id: _id,
          address: _address,
          canonical_lead_id: _lead,
          lead_reference: _reference,
          ...rest
        } = await counted("chatapp", person, texts.length)
        const messages = (await messagesOf(host, "chatapp", person)).map(({ id: _own, provider_message_id: _theirs, ...item }) => item)
        const entries = await host.api<{ opt_outs: { kind: string; wording: string; at: string }[] }>(
          "GET",
          `/v1/voice/opt-outs?channel=chat_app&address=${encodeURIComponent(person)}`,
        )
        results.push({ rest, messages, ledger: entries.body.opt_outs.map(({ kind, wording, at }) => ({ kind, wording, at })) })
      }
      round++
      expect(results[1]).to.deep.equal(results[0])
      const { rest: others, ledger } = results[0] as { rest: object; ledger: { kind: string }[] }
      expect(others).to.include({ suppressed: true, display_name: "Name 5", sender_kind: "person" })
      expect(ledger.map(({ kind }) => kind)).to.deep.equal(["opt_out", "opt_in", "opt_out"])
    })
    await fc.assert(property, { numRuns: isSoak ? 50 : 1 })
  })

  it("read the profile name from the newest message, and none where it has none", async () => {
    const person = "+4915133333333"
    await take(chatMessage("wamid.n2", person, { at: start + 2 * minute, name: "Later", body: "b" }))
    await take(chatMessage("wamid.n1", person, { at: start + minute, name: "Earlier", body: "a" }))
    expect((await counted("chatapp", person, 2)).display_name).to.equal("Later")
    await take(chatMessage("wamid.n3", person, { at: start + 3 * minute, body: "c" }))
    expect((await counted("chatapp", person, 3)).display_name).to.equal("")
  })

  it("keep text messages, their opt-outs and the chat app's apart", async () => {
    const person = "+4915144444444"
    await take(chatMessage("wamid.t1", person, { at: start, name: "Ada", body: "Hello" }))
    const sms = { MessageSid: "SM1", From: person, To: own, NumMedia: "0", SmsStatus: "received", AccountSid: "AC1" }
    expect((await postTwilio(urls.twilio, { ...sms, Body: "Hello" })).status).to.equal(200)
    expect((await postTwilio(urls.twilio, { ...sms, MessageSid: "SM2", Body: "Cancel." })).status).to.equal(200)
    await counted("text", person, 2)
    expect(await conversationOf(host, "text", person))
      .to.include({ suppressed: true })
      .and.not.have.property("display_name")
    expect(await conversationOf(host, "chatapp", person)).to.include({ suppressed: false, message_count: 1 })
    await take(chatMessage("wamid.t2", person, { at: start + minute, body: "Cancel." }))
    expect((await counted("chatapp", person, 2)).suppressed, "a word of text messages").to.equal(false)
    await postTwilio(urls.twilio, { ...sms, MessageSid: "SM3", Body: "yes", OptOutType: "START" })
    expect((await counted("text", person, 3)).suppressed, "by Twilio's own reading").to.equal(false)
  })

  it("leave an opt-out in force where an earlier opt-in is delivered again", async () => {
    const person = "+4915144444445"
    const say = async (MessageSid: string, Body: string) => {
      const sms = { MessageSid, From: person, To: own, Body, NumMedia: "0", SmsStatus: "received" }
      expect((await postTwilio(urls.twilio, sms)).status).to.equal(200)
    }
    for (const [id, text] of [
      ["SMr1", "Start"],
      ["SMr2", "Stop"],
      ["SMr1", "Start"],
    ] as const)
      await say(id, text)
    expect((await counted("text", person, 2)).suppressed).to.equal(true)
    await say("SMr3", "Start")
    await say("SMr2", "Stop")
    expect((await counted("text", person, 3)).suppressed, "the opt-out again, after a later opt-in").to.equal(false)
    const path = `/v1/voice/opt-outs?channel=sms&address=${encodeURIComponent(person)}`
    const { body } = await host.api<{ opt_outs: { kind: string }[] }>("GET", path)
    expect(body.opt_outs.map(({ kind }) => kind)).to.deep.equal(["opt_in", "opt_out", "opt_in"])
  })

  it("take a person's choice in WhatsApp's own menu", async () => {
    const person = "+4915155555555"
    await take(chatMessage("wamid.c1", person, { at: start, body: "Hello" }))
    const choice = (value: string, at: number) => ({
      user_preferences: [{ wa_id: person.slice(1), category: "marketing_messages", value, timestamp: String(Math.floor(at / 1_000)) }],
    })
    await take(choice("stop", start + minute))
    expect(await conversationOf(host, "chatapp", person)).to.include({ suppressed: true })
    await take(choice("resume", start + 2 * minute))
    expect(await conversationOf(host, "chatapp", person)).to.include({ suppressed: false })
  })

  it("belong to a registered number, under any name at the provider", async () => {
    const { status, body } = await host.api("POST", "/v1/voice/phone-numbers", { number: "+49 30 999999", agent_ref: "agent-1" })
    expect(status, JSON.stringify(body)).to.equal(200)
    const connected = await host.api("POST", "/v1/integrations-connect", {
      app: "http",
      name: "meta",
      share_with_org: true,
      credentials: { base_url: "https://graph.test", headers: { Authorization: "Bearer t" } },
    })
    expect(connected.status, JSON.stringify(connected.body)).to.equal(200)
    const line = { integration: "meta", phone_number_id: "777" }
    expect((await host.api("PATCH", "/v1/voice/phone-numbers/%2B4930999999", { chat_app: line })).status).to.equal(200)
    const person = "+4915166666666"
    await take({ ...chatMessage("wamid.r1", person, { at: start, body: "Hello" }), phone_number_id: "777" })
    expect(await counted("chatapp", person, 1)).to.include({ phone_number: "+4930999999", agent_ref: "agent-1" })
    await take({ ...chatMessage("wamid.r2", person, { at: start, body: "Hello" }), phone_number_id: phoneNumberId })
    const both = await conversationsOf(host, "chatapp", `address=${encodeURIComponent(person)}`)
    expect(both.map(({ phone_number, agent_ref }) => [phone_number, agent_ref])).to.have.deep.members([
      ["+4930999999", "agent-1"],
      [own, ""],
    ])
    expect(await conversationsOf(host, "chatapp", "phone_number=%2B4930999999")).to.have.length(1)
  })

  it("are one conversation however a mobile number is written, and not one with a fixed number", async () => {
    await take(chatMessage("wamid.w1", "+5215512345678", { at: start, body: "From the chat app" }))
    await take(chatMessage("wamid.w2", "+525512345678", { at: start + minute, body: "As it is dialled" }))
    await take(chatMessage("wamid.w3", "+5511945678901", { at: start, body: "Mobile" }))
    await take(chatMessage("wamid.w4", "+551145678901", { at: start, body: "Fixed" }))
    await counted("chatapp", "+525512345678", 2)
    await counted("chatapp", "+5215512345678", 2)
    for (const address of ["+5511945678901", "+551145678901"]) expect(await counted("chatapp", address, 1)).to.include({ address })
  })

  it("belong to the organization whose endpoint took them, for any number that they name", async () => {
    const person = "+4915188888888"
    await take(chatMessage("wamid.g1", person, { at: start, body: "Hello" }))
    await counted("chatapp", person, 1)
    const key = await host.get(UnitsOfWork).run((work) => {
      const { id } = host.get(Organizations).create(work, { name: "Other", slug: "other" })
      return host.get(ApiKeys).mint(work, id, { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null }).text
    })
    const other = { api: (method, path, body) => host.api(method, path, body, { key }) } as TestHost
    const theirs = await makePipelines(other)
    const stop = chatMessage("wamid.g1", person, { at: start + minute, body: "STOP" })
    expect((await postMeta(theirs.meta, stop)).status).to.equal(200)
    const [conversation] = await until("their conversation", async () => {
      const list = await conversationsOf(other, "chatapp")
      return list.length > 0 && list
    })
    expect(conversation).to.include({ address: person, phone_number: own, suppressed: true, message_count: 1 })
    expect(await counted("chatapp", person, 1)).to.include({ suppressed: false })
    expect((await messagesOf(host, "chatapp", person)).map(({ text }) => text)).to.deep.equal(["Hello"])
    expect((await host.api("GET", `/v1/voice/chatapp-conversations/${conversation?.session_id}`)).status).to.equal(404)
    expect((await host.api("DELETE", `/v1/voice/chatapp-conversations/${conversation?.session_id}`)).status).to.equal(404)
  })

  it("take what they understand of a delivery, and nothing from the names that every object has", async () => {
    const person = "+4915177777777"
    const whole = chatMessage("wamid.h1", person, { at: start, name: "Ada", body: "Understood" })
    const odd = [
      ...[null, 1, "text", [], {}, { id: {}, from: [] }, { id: "wamid.h2", from: "nobody", type: "text" }],
      ...["toString", "constructor", "hasOwnProperty"].map((type) => ({
        id: `wamid.h-${type}`,
        from: person.slice(1),
        timestamp: "1e400",
        type,
      })),
      { id: "wamid.h3", from: person.slice(1), timestamp: -5, type: "location", location: { latitude: "NaN", longitude: [] } },
    ]
    await take({
      messages: [...odd, ...(whole.messages ?? [])] as object[],
      contacts: [null, 5, ...(whole.contacts ?? [])] as object[],
      statuses: [null, { id: "wamid.h1", status: "constructor" }, { id: "wamid.h1", status: "sent", errors: "none" }] as object[],
      user_preferences: [null, { wa_id: person.slice(1), value: "constructor" }] as object[],
    })
    expect(await counted("chatapp", person, 5)).to.include({ display_name: "Ada", suppressed: false })
    const messages = await messagesOf(host, "chatapp", person)
    expect(messages.find(({ text }) => text === "Understood")).to.include({ kind: "text", profile_name: "Ada", state: "received" })
    expect(messages.filter(({ kind }) => kind === "other").map(({ content }) => content)).to.deep.equal([null, null, null])

    const sms = { From: person, To: own, Body: "Hello" }
    for (const fields of [
      { MessageSid: "SMh1", MessageStatus: "constructor" },
      { MessageSid: "SMh2", MessageStatus: "delivered", To: person, From: own },
      { MessageSid: "SMh3", ...sms, NumMedia: "-1" },
      { MessageSid: "SMh4", ...sms, NumMedia: "1e9", OptOutType: "constructor" },
      { MessageSid: "SMh5", ...sms, From: `whatsapp:${person}` },
    ])
      expect((await postTwilio(urls.twilio, fields)).status, JSON.stringify(fields)).to.equal(200)
    expect(await counted("text", person, 2)).to.include({ suppressed: false })
  })

  it("refuse what is not a webhook of the provider", async () => {
    for (const [provider, payload] of [
      ["meta_whatsapp", { hello: 1 }],
      ["meta_whatsapp", { object: "page", entry: [] }],
      ["twilio", metaPayload({})],
    ] as const) {
      const work = new StagedWork("refused")
      const arrived = { provider, payload: payload as Json, at: timestamp(start), origin: "refused" }
      const stage = host.get(Receiver).stage(work, host.organization.id, arrived)
      expect((await refusalOf(stage)).details).to.deep.include({ reason: "not_a_delivery", retryable: false })
      expect(work.writes).to.deep.equal([])
    }
  })
})

function shuffled<T>(items: T[], draw: (below: number) => number): T[] {
  for (let n = items.length - 1; n > 0; n--) {
    const other = draw(n + 1)
    const [a, b] = [items[n] as T, items[other] as T]
    items[n] = b
    items[other] = a
  }
  return items
}
