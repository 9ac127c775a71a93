// Meta and Twilio with every kind of failure. A message that was certainly not accepted is sent later. With an unknown outcome it
// is not sent again. The message states the cause.
import type { ServerResponse } from "node:http"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { patiently, until } from "../../waiting.ts"
import { connect, json, type Providers, providerEnv, startProviders } from "./providers.ts"
import { chatMessage, type Endpoints, type Message, makePipelines, messagesOf, own, postMeta } from "./webhooks.ts"

/** One in the afternoon in Berlin, outside quiet hours. */
const noon = Date.parse("2026-11-24T12:00:00Z")
const channels = ["chat_app", "sms"] as const
type Channel = (typeof channels)[number]

/** The faulty answer, the message's resulting state, and its error. */
const faults: Record<string, [(response: ServerResponse) => unknown, "unknown" | "failed", string]> = {
  "answer 500 with a page": [(response) => response.writeHead(500, { "content-type": "text/html" }).end("<p>Oops"), "unknown", "unknown"],
  "answer 500 and a code that says nothing of the message": [
    (response) => json(response, 500, { error: { code: 131000, message: "Something went wrong" }, code: 20500 }),
    "unknown",
    "unknown",
  ],
  "answer 503 and nothing": [(response) => response.writeHead(503).end(), "unknown", "unknown"],
  "answer 404 with a page": [(response) => response.writeHead(404, { "content-type": "text/html" }).end("<p>Gone"), "failed", "404"],
  "answer 200 with JSON that ends early": [
    (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"sid": "SM1", "messages": [{"id": "wamid.1"'),
    "unknown",
    "unknown",
  ],
  "answer 200 with a list": [(response) => json(response, 200, []), "unknown", "unknown"],
  "close within the answer": [
    (response) => void response.writeHead(200, { "content-length": "99" }).write("{", () => response.destroy()),
    "unknown",
    "unknown",
  ],
}

describe("messages to providers that fail", () => {
  let host: TestHost
  let urls: Endpoints
  let providers: Providers
  let count = 0
  const called: string[] = []
  before(async () => {
    providers = await startProviders()
    host = await testHost({
      capture: false,
      env: { MILLRACE_OUTGOING_ALLOW_HOSTS: `${providerEnv(providers)["MILLRACE_OUTGOING_ALLOW_HOSTS"]},127.0.0.1:1` },
    })
    urls = await makePipelines(host)
    await connect(host, providers)
    host.clock.set(noon)
  })
  after(async () => {
    await host.stop()
    await providers.close()
  })
  beforeEach(() => {
    called.length = 0
    providers.instead = () => false
  })

  const answering = (answer: (response: ServerResponse) => unknown) => {
    providers.instead = ({ to }, response) => {
      called.push(to)
      answer(response)
      return true
    }
  }
  /** Sends to a person who has just written, if the channel requires it. */
  const send = async (channel: Channel, from = own) => {
    const to = `+49152${10_000_000 + ++count}`
    if (channel === "chat_app") await patiently(() => postMeta(urls.meta, chatMessage(`wamid.f${count}`, to, { at: noon, body: "Hi" })))
    const { status, body } = await patiently(() => host.api("POST", "/v1/voice/messages", { channel, from, to, text: "Hello" }))
    expect(status, JSON.stringify(body)).to.equal(200)
    return to
  }
  const when = (channel: Channel, to: string, what: string, isIt: (message: Message) => boolean) =>
    until(`a message ${what}`, async () => {
      const messages = await messagesOf(host, channel === "sms" ? "text" : "chatapp", to)
      return messages.find((message) => message.direction === "out" && isIt(message))
    })

  for (const channel of channels) {
    for (const [what, [answer, state, code]] of Object.entries(faults))
      it(`by ${channel} are ${state}, and not sent again, where they ${what}`, async () => {
        answering(answer)
        const to = await send(channel)
        const { error } = await when(channel, to, `being ${state}`, (message) => message.state === state)
        expect(error?.code).to.equal(code)
        host.clock.move(3_600_000)
        host.clock.set(noon)
        expect(called).to.deep.equal([to])
      })

    it(`by ${channel} wait, with nobody called, while the provider asks to wait, and are sent once after that`, async () => {
      answering((response) => json(response.setHeader("retry-after", "30"), 429, { error: { message: "Slow down" } }))
      const first = await send(channel)
      await when(channel, first, "being put off", ({ state, error }) => state === "queued" && error !== null)
      const second = await send(channel)
      const message = await when(channel, second, "being held back", ({ state, error }) => state === "queued" && error !== null)
      expect(message.error?.code).to.equal("app_asked_to_wait")
      expect(called).to.deep.equal([first])
      const arrived = new Set<string>()
      providers.instead = ({ to }) => {
        arrived.add(to)
        return false
      }
      // A call in flight would time out by the moved clock.
      const callBoth = () => {
        if (arrived.size < 2) host.clock.move(5_000)
        return arrived.size === 2
      }
      await until("both being called", callBoth, { everyMs: 200 })
      for (const to of [first, second]) await when(channel, to, "being accepted", ({ state }) => state === "accepted")
      expect(providers.sent.filter(({ to }) => to === first || to === second)).to.have.length(2)
      host.clock.set(noon)
    })
  }

  it("wait while nothing listens, and say so", async () => {
    const number = "+493012345699"
    const credentials = { base_url: "http://127.0.0.1:1", headers: { Authorization: "Basic x" } }
    await host.api("POST", "/v1/integrations-connect", { app: "http", name: "down", share_with_org: true, credentials })
    const sms = { integration: "down", account_sid: `AC${"0".repeat(32)}`, status_callback_url: "" }
    expect((await host.api("POST", "/v1/voice/phone-numbers", { number, sms })).status).to.equal(200)
    const to = await send("sms", number)
    const { error } = await when("sms", to, "being put off", ({ state, error }) => state === "queued" && error !== null)
    expect(error?.code).to.equal("connection_failed")
  })
})
