// The opt-out link, from the message or mail with the link to the refused messages afterwards.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { patiently, until } from "../../waiting.ts"
import { connect, type Providers, providerEnv, startProviders } from "./providers.ts"
import { chatMessage, type Endpoints, makePipelines, own, postMeta, postTwilio } from "./webhooks.ts"

const noon = Date.parse("2026-11-24T12:00:00Z")
const person = "+4915112345678"

interface Entry {
  readonly kind: string
  readonly source: string
  readonly message_id: string | null
  readonly wording: string
}

describe("opt-out links", () => {
  let host: TestHost
  let providers: Providers
  let urls: Endpoints
  before(async () => {
    providers = await startProviders()
    host = await testHost({ env: providerEnv(providers), capture: false })
    urls = await makePipelines(host)
    await connect(host, providers)
    host.clock.set(noon)
  })
  after(async () => {
    await host.stop()
    await providers.close()
  })

  const send = (channel: string, text: string) => {
    const body = { channel, from: own, to: person, text }
    return patiently(() => host.api<{ message_id: string; details: { reason: string } }>("POST", "/v1/voice/messages", body))
  }
  const pathOf = (text: string) => /https?:\/\/[^/]+(\/v1\/opt-out\/[\w-]+)/.exec(text)?.[1] ?? expect.fail(text)
  const open = (path: string, method = "GET") => patiently(() => fetch(host.url + path, { method }))
  const entries = async (channel: string) => {
    const path = `/v1/voice/opt-outs?channel=${channel}&address=${encodeURIComponent(person)}`
    return (await patiently(() => host.api<{ opt_outs: Entry[] }>("GET", path))).body.opt_outs
  }

  it("stand in a message, and opt its recipient out of its channel alone by a post, once", async () => {
    const { body } = await send("sms", "News. No more: {{ opt_out_url }} or {{opt_out_url}}")
    const message = await until("the message", () =>
      providers.sent.find(({ message_id, to }) => to === person || message_id === body.message_id),
    )
    const path = pathOf(message.text)
    expect(message.text).to.equal(`News. No more: ${host.url}${path} or ${host.url}${path}`)
    expect(path.length, "letters of a text message").to.be.below(130)
    expect(message.text).to.not.contain(person.slice(1))

    const page = await open(path)
    expect([page.status, page.headers.get("content-security-policy")?.startsWith("default-src 'none'")]).to.deep.equal([200, true])
    const html = await page.text()
    expect(html).to.contain('<form method="post">').and.contain(person).and.contain("text messages").and.not.contain("<script")
    expect((await fetch(host.url + path, { method: "HEAD" })).status).to.equal(200)
    expect(await entries("sms"), "by opening it").to.deep.equal([])

    const posts = [await open(path, "POST"), await open(path, "POST")]
    expect(posts.map(({ status }) => status)).to.deep.equal([200, 200])
    const [entry, ...others] = await entries("sms")
    expect(others).to.deep.equal([])
    expect(entry).to.include({ kind: "opt_out", source: "link", message_id: body.message_id })
    expect((await send("sms", "Again")).body.details.reason).to.equal("recipient_opted_out")
    expect(await entries("chat_app")).to.deep.equal([])

    // After an opt-in, the link opts the person out again.
    host.clock.move(1_000)
    await patiently(() => postTwilio(urls.twilio, { MessageSid: "SMstart", From: person, To: own, Body: "START", SmsStatus: "received" }))
    expect((await send("sms", "Welcome back")).status).to.equal(200)
    host.clock.move(1_000)
    await open(path, "POST")
    expect((await entries("sms")).map(({ kind }) => kind)).to.deep.equal(["opt_out", "opt_in", "opt_out"])
    expect((await send("sms", "Again")).body.details.reason).to.equal("recipient_opted_out")
  })

  it("stand in a mail by the action, and are the operation's", async () => {
    const response = await host.api<{ slug: string; inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: "Offers",
      state: "active",
      auth_mode: "none",
      pipeline: [
        { id: "link", type: "conversation.opt_out_link", channel: "chat_app", address: "{{ event.phone }}" },
        { type: "respond", body: { link: "{{ steps.link.url }}" } },
      ],
    })
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    const { body } = await host.send<{ link: string }>(response.body, { phone: "+49 151 12345678" })
    const path = pathOf(body.link)
    const query = `channel=chat_app&address=${encodeURIComponent(person)}`
    expect((await host.api("GET", `/v1/voice/opt-out-link?${query}`)).body).to.deep.equal({ url: body.link })
    await postMeta(urls.meta, chatMessage("wamid.link", person, { at: host.clock.now(), body: "Hi" }))
    expect(await (await open(path)).text()).to.contain("WhatsApp messages")
    await open(path, "POST")
    expect((await entries("chat_app"))[0]).to.include({ source: "link", message_id: null })
    expect((await send("chat_app", "Hello")).body.details.reason).to.equal("recipient_opted_out")
  })

  it("are of no use when changed, shortened, spelled otherwise, or made for another purpose", async () => {
    const { url } = (await host.api<{ url: string }>("GET", "/v1/voice/opt-out-link?channel=sms&address=%2B493098765432")).body
    const token = url.split("/").at(-1) ?? ""
    const flipped = (at: number) => token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1)
    for (const other of [
      ...[0, 20, 60, token.length - 3].map(flipped),
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      "x",
      "A".repeat(2_000),
      "%00",
    ]) {
      const answers = [await open(`/v1/opt-out/${other}`), await open(`/v1/opt-out/${other}`, "POST")]
      expect(
        answers.map(({ status }) => status),
        other,
      ).to.deep.equal([404, 404])
    }
    expect((await open(`/v1/unsubscribe/${token}`)).status).to.equal(404)
    const response = await host.api<{ opt_outs: object[] }>("GET", "/v1/voice/opt-outs?channel=sms&address=%2B493098765432")
    expect(response.body.opt_outs).to.deep.equal([])
  })

  it("is told to subscribers of the channel, as are conversations and messages, by ids and states alone", async () => {
    const someone = "+4915187654321"
    const newBroadcasts = async () => (await host.broadcasts("text_conversations")).slice(before)
    const before = (await host.broadcasts("text_conversations")).length
    await postTwilio(urls.twilio, { MessageSid: "SMlive", From: someone, To: own, Body: "A secret of mine", SmsStatus: "received" })
    const conversation = await until("the conversation", async () => (await newBroadcasts())[0])
    const { session_id } = conversation.data as { session_id: string }
    expect(conversation).to.deep.include({ event: "conversation", data: { session_id, state: "open" } })
    const response = await patiently(() =>
      host.api<{ message_id: string }>("POST", "/v1/voice/messages", { channel: "sms", from: own, to: someone, text: "Another secret" }),
    )
    const { message_id } = response.body
    const accepted = { channel: "text_conversations", event: "message", data: { session_id, message_id, state: "accepted" } }
    await until("the message", async () =>
      (await newBroadcasts()).some((broadcast) => JSON.stringify(broadcast) === JSON.stringify(accepted)),
    )
    await host.api("POST", "/v1/voice/opt-outs", { channel: "sms", address: someone, wording: "A third secret" })
    // A separate job updates the conversation, so its broadcast may follow later.
    expect((await newBroadcasts()).map(({ event }) => event)).to.include("opt_out")
    await host.api("DELETE", `/v1/voice/text-conversations/${session_id}`)
    await until("the removal", async () =>
      (await newBroadcasts()).some(({ data }) => JSON.stringify(data) === JSON.stringify({ session_id, state: "removed" })),
    )
    expect(JSON.stringify(await newBroadcasts()))
      .to.not.contain("secret")
      .and.not.contain(someone.slice(1))
    expect(JSON.stringify(await host.broadcasts("chatapp_conversations"))).to.not.contain(session_id)
  })
})
