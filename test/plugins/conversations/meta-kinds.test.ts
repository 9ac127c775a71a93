// WhatsApp webhooks besides plain messages: messages of the same second, echoes of the phone app, its history, people with a
// changed or hidden number, and WhatsApp through Twilio.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { onStoresInTurn } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"
import { connect, type Providers, providerEnv, startProviders } from "./providers.ts"
import {
  chatMessage,
  conversationOf,
  type Endpoints,
  makePipelines,
  messagesOf,
  own,
  phoneNumberId,
  postMeta,
  postMetaPayload,
  postTwilio,
} from "./webhooks.ts"

const metadata = { display_phone_number: own.slice(1), phone_number_id: phoneNumberId }
const seconds = (at: number) => String(Math.floor(at / 1_000))

onStoresInTurn("webhooks of WhatsApp", (leg) => {
  let host: TestHost
  let providers: Providers
  let urls: Endpoints
  const start = Date.now() - 3_600_000
  before(async () => {
    providers = await startProviders()
    host = await leg.start({ env: providerEnv(providers) })
    urls = await makePipelines(host)
    await connect(host, providers, urls.twilio)
  })
  after(() => providers.close())

  const take = async (field: string, value: object) => {
    const changes = [{ field, value: { messaging_product: "whatsapp", metadata, ...value } }]
    const { status } = await postMetaPayload(urls.meta, { object: "whatsapp_business_account", entry: [{ id: "1", changes }] })
    expect(status).to.equal(200)
  }
  const counted = (address: string, count: number) =>
    until(`${count} messages of ${address}`, async () => {
      const conversation = await conversationOf(host, "chatapp", address)
      return conversation?.message_count === count ? conversation : undefined
    })
  const whenGone = (address: string) =>
    until(`no conversation of ${address}`, async () => !(await conversationOf(host, "chatapp", address)))
  const textsOf = async (address: string) => (await messagesOf(host, "chatapp", address)).map(({ text }) => text)
  const messageFrom = (from: string, id: string, at: number, body: string, more: object = {}) => ({
    ...{ from: from.replace("+", ""), id: `wamid.${id}`, timestamp: seconds(at), type: "text", text: { body }, ...more },
  })

  describe("messages of one second", () => {
    it("stand in the order of their arrival, and name the person as the last one does", async () => {
      const person = "+4915155500001"
      for (const letter of "abcdef")
        expect(
          (await postMeta(urls.meta, chatMessage(`wamid.s-${letter}`, person, { at: start, name: `N${letter}`, body: letter }))).status,
        ).to.equal(200)
      expect(await counted(person, 6)).to.include({ display_name: "Nf" })
      expect((await textsOf(person)).join("")).to.equal("fedcba")
    })

    it("stand in the order of one delivery", async () => {
      const person = "+4915155500002"
      await take("messages", { messages: [..."zyxwv"].map((letter) => messageFrom(person, `d-${letter}`, start, letter)) })
      await counted(person, 5)
      expect((await textsOf(person)).join("")).to.equal("vwxyz")
    })

    it("keep their order when one comes again, and across pages", async () => {
      const person = "+4915155500003"
      for (const letter of ["a", "b", "c", "a"]) await take("messages", { messages: [messageFrom(person, `r-${letter}`, start, letter)] })
      const { session_id } = await counted(person, 3)
      const read: string[] = []
      for (let cursor = "", first = true; first || cursor !== ""; first = false) {
        const path = `/v1/voice/chatapp-conversations/${session_id}?limit=1&cursor=${encodeURIComponent(cursor)}`
        const { body } = await host.api<{ messages: { text: string }[]; next_cursor: string }>("GET", path)
        read.push(...body.messages.map(({ text }) => text))
        cursor = body.next_cursor
      }
      expect(read).to.deep.equal(["c", "b", "a"])
    })

    it("say who wrote last by their arrival", async () => {
      const person = "+4915155500004"
      await take("messages", { messages: [messageFrom(person, "l-in", start, "Hello")] })
      await take("smb_message_echoes", { message_echoes: [{ ...messageFrom(own, "l-out", start, "Hi"), to: person.slice(1) }] })
      expect(await counted(person, 2)).to.include({ sender_kind: "organization" })
    })
  })

  describe("echoes of the phone app", () => {
    it("are outgoing messages of the conversation, and never opt the person out", async () => {
      const person = "+4915155500011"
      await take("messages", { messages: [messageFrom(person, "e-in", start, "Hi")] })
      await take("smb_message_echoes", { message_echoes: [{ ...messageFrom(own, "e-out", start + 1_000, "STOP"), to: person.slice(1) }] })
      const conversation = await counted(person, 2)
      expect(conversation).to.include({ suppressed: false })
      expect(conversation.last_outbound_at).to.equal(new Date(Math.floor(start / 1_000) * 1_000 + 1_000).toISOString())
      const [echo] = await messagesOf(host, "chatapp", person)
      expect(echo).to.include({ direction: "out", text: "STOP", state: "sent" })
      await take("messages", { statuses: [{ id: "wamid.e-out", status: "read", timestamp: seconds(start) }] })
      await until("the state", async () => (await messagesOf(host, "chatapp", person))[0]?.state === "read")
    })

    it("begin a conversation, once for each message", async () => {
      const person = "+4915155500012"
      const echo = {
        ...messageFrom(own, "e-first", start, ""),
        to: person.slice(1),
        type: "image",
        image: { id: "m-1", mime_type: "image/png", caption: "Look" },
      }
      for (let time = 0; time < 2; time++) await take("smb_message_echoes", { message_echoes: [echo] })
      expect(await counted(person, 1)).to.include({ last_inbound_at: null, sender_kind: "organization" })
      expect((await messagesOf(host, "chatapp", person))[0]).to.include({ kind: "image", text: "Look" })
    })
  })

  describe("history of the phone app", () => {
    it("is in the conversations with its directions, states and files", async () => {
      const person = "+4915155500021"
      const month = start - 30 * 86_400_000
      const context = (status: string) => ({ history_context: { status } })
      const messages = [
        messageFrom(own, "h-1", month, "Our offer", context("READ")),
        { ...messageFrom(own, "h-2", month + 60_000, ""), type: "media_placeholder", ...context("PLAYED") },
        messageFrom(person, "h-3", month + 120_000, "Thanks!", context("READ")),
      ]
      await take("history", {
        history: [{ metadata: { phase: 1, chunk_order: 1, progress: 55 }, threads: [{ id: person.slice(1), messages }] }],
      })
      await counted(person, 3)
      await take("history", {
        messages: [
          {
            ...messageFrom(own, "h-2", month + 60_000, ""),
            to: person.slice(1),
            type: "image",
            image: { id: "media-9", mime_type: "image/png", caption: "A picture" },
          },
        ],
      })
      await until("the file", async () => (await textsOf(person)).includes("A picture"))
      const [thanks, picture, offer] = await messagesOf(host, "chatapp", person)
      expect(thanks).to.include({ direction: "in", text: "Thanks!", state: "received" })
      expect(picture).to.include({ direction: "out", kind: "image", state: "read" })
      expect(picture?.media).to.have.length(1)
      expect(offer).to.include({ direction: "out", text: "Our offer", state: "read" })
      await take("history", { history: [{ errors: [{ code: 2593109, title: "History sync is turned off" }] }] })
    })

    it("opts out who refused then", async () => {
      const person = "+4915155500022"
      await take("history", {
        history: [{ threads: [{ id: person.slice(1), messages: [messageFrom(person, "h-stop", start - 86_400_000, "STOP")] }] }],
      })
      expect(await counted(person, 1)).to.include({ suppressed: true })
    })
  })

  describe("a person with another number", () => {
    const changed = (from: string, to: string, id: string, at: number, type = "user_changed_number", name = "wa_id") => ({
      messages: [
        {
          from: from.slice(1),
          id: `wamid.${id}`,
          timestamp: seconds(at),
          type: "system",
          system: { body: `User changed to ${to}`, type, [name]: to.slice(1) },
        },
      ],
    })

    it("keeps the conversation and the opt-out", async () => {
      const [before, after] = ["+4915155500031", "+4915155500032"]
      await take("messages", { messages: [messageFrom(before, "c-1", start, "Hello"), messageFrom(before, "c-2", start + 1_000, "STOP")] })
      await counted(before, 2)
      await take("messages", changed(before, after, "c-3", start + 60_000))
      expect(await counted(after, 3)).to.include({ suppressed: true })
      expect((await textsOf(after)).slice(1)).to.deep.equal(["STOP", "Hello"])
      await whenGone(before)
    })

    it("keeps what comes late from the number before, and leaves its next owner alone", async () => {
      const [before, after] = ["+4915155500033", "+4915155500034"]
      await take("messages", changed(before, after, "n-1", start + 60_000, "customer_changed_number", "new_wa_id"))
      await take("messages", { messages: [messageFrom(before, "n-2", start, "STOP")] })
      expect(await counted(after, 2)).to.include({ suppressed: true })
      await take("messages", { messages: [messageFrom(before, "n-3", start + 120_000, "I am somebody else")] })
      expect(await counted(before, 1)).to.include({ suppressed: false })
    })

    it("is followed over several changes", async () => {
      const [first, second, third] = ["+4915155500035", "+4915155500036", "+4915155500037"]
      await take("messages", { messages: [messageFrom(first, "m-1", start, "One")] })
      await counted(first, 1)
      await take("messages", changed(first, second, "m-2", start + 60_000))
      await counted(second, 2)
      await take("messages", changed(second, third, "m-3", start + 120_000))
      await counted(third, 3)
      await whenGone(first)
      await whenGone(second)
      await take("messages", { messages: [messageFrom(first, "m-4", start + 1_000, "Late")] })
      await counted(third, 4)
    })
  })

  describe("a person without a number", () => {
    const id = (n: number) => `DE.13491208655302741${n}`
    const nameless = (user: string, message: string, at: number, body: string) => {
      const { from: _, ...rest } = messageFrom("", message, at, body)
      return { contacts: [{ profile: { name: "Zoe", username: "@zoe" }, user_id: user }], messages: [{ ...rest, from_user_id: user }] }
    }

    it("has a conversation by their user ID, is answered there and can opt out", async () => {
      await take("messages", nameless(id(1), "u-1", Date.now() - 60_000, "Hi"))
      expect(await counted(id(1), 1)).to.include({ address: id(1), display_name: "Zoe" })
      const request = { channel: "chat_app", from: own, to: id(1), text: "Good day" }
      const response = await host.api("POST", "/v1/voice/messages", request)
      await until("the call", () => providers.sent.some(({ to }) => to === id(1)))
      expect(response.status, JSON.stringify(response.body)).to.equal(200)
      await take("messages", nameless(id(1), "u-2", Date.now() - 30_000, "Stop"))
      await until("the opt-out", async () => (await conversationOf(host, "chatapp", id(1)))?.suppressed)
      expect((await host.api("POST", "/v1/voice/messages", request)).body).to.have.nested.property("details.reason", "recipient_opted_out")
      const text = await host.api("POST", "/v1/voice/messages", { ...request, channel: "sms" })
      expect([text.status, JSON.stringify(text.body)]).to.satisfy(
        ([status, body]: [number, string]) => status === 400 && body.includes("user ID"),
      )
    })

    it("is the same person once their number comes along, and after that by the user ID alone", async () => {
      const person = "+4915155500041"
      await take("messages", nameless(id(2), "u-3", start, "Stop"))
      expect(await counted(id(2), 1)).to.include({ suppressed: true })
      const contacts = [{ profile: { name: "Zoe" }, wa_id: person.slice(1), user_id: id(2) }]
      await take("messages", { contacts, messages: [messageFrom(person, "u-4", start + 60_000, "Hi", { from_user_id: id(2) })] })
      expect(await counted(person, 2)).to.include({ suppressed: true })
      await whenGone(id(2))
      await take("messages", nameless(id(2), "u-5", start + 120_000, "START"))
      expect(await counted(person, 3)).to.include({ suppressed: false })
    })

    it("keeps the conversation with another user ID", async () => {
      await take("messages", nameless(id(3), "u-6", start, "Hello"))
      await counted(id(3), 1)
      const system = { body: "User changed", type: "user_changed_user_id", user_id: id(4) }
      await take("messages", {
        messages: [{ from_user_id: id(3), id: "wamid.u-7", timestamp: seconds(start + 60_000), type: "system", system }],
      })
      await counted(id(4), 2)
      await whenGone(id(3))
    })
  })

  describe("WhatsApp by Twilio", () => {
    const fields = (more: object) => ({
      From: "whatsapp:+4915155500051",
      To: `whatsapp:${own}`,
      SmsStatus: "received",
      NumMedia: "0",
      ...more,
    })

    it("is of the chat app, with the profile name and the button", async () => {
      const person = "+4915155500051"
      for (const more of [
        { MessageSid: "SMw1", Body: "Hello", ProfileName: "Zoe", WaId: person.slice(1) },
        { MessageSid: "SMw2", Body: "Yes", ButtonText: "Yes", ButtonPayload: "y", ProfileName: "Zoe", OriginalRepliedMessageSid: "SM0" },
        { MessageSid: "SMw3", Body: "", Latitude: "52.5", Longitude: "13.4", Label: "Office", ProfileName: "Zoe" },
      ])
        expect((await postTwilio(urls.twilio, fields(more))).status).to.equal(200)
      expect(await counted(person, 3)).to.include({ display_name: "Zoe" })
      expect(await conversationOf(host, "text", person)).to.equal(undefined)
      const kinds = (await messagesOf(host, "chatapp", person)).map(({ kind }) => kind)
      expect(kinds).to.deep.equal(["location", "button", "text"])
    })

    it("opts out of the chat app alone", async () => {
      const From = "whatsapp:+4915155500052"
      await postTwilio(urls.twilio, fields({ From, MessageSid: "SMw4", Body: "Stop" }))
      expect(await counted("+4915155500052", 1)).to.include({ suppressed: true })
      await postTwilio(urls.twilio, fields({ From: "messenger:12345", MessageSid: "SMw5", Body: "Hi" }))
      expect(await conversationOf(host, "chatapp", "12345")).to.equal(undefined)
    })
  })
})
