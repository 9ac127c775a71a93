// Deliveries with thousands of messages: answered at once and stored in pieces, each message once.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { expectShortTurn, repeatedLongestTurn } from "../../longest-turn.ts"
import { byTier } from "../../tier.ts"
import { until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"
import { conversationOf, type Endpoints, makePipelines, metaPayload, own, postMetaPayload } from "./webhooks.ts"

const perPiece = 50
const perMinute = 3

describe("large deliveries of WhatsApp", () => {
  let host: TestHost
  let urls: Endpoints
  let server: ModelServer
  before(async () => {
    server = await modelServer()
    const digest = { base_url: server.url, model: "digest-1", prices: { input: 1, output: 1 } }
    host = await testHost({ capture: false, env: pluginSettings({ models: { digest, max_retries: 0 } }) })
    urls = await makePipelines(host)
  })
  after(async () => {
    await host.stop()
    await server.close()
  })

  const person = (n: number) => `4930${100_000 + n}`
  const messages = (name: string, count: number, of: (n: number) => string, timestamp = "1") =>
    Array.from({ length: count }, (_, n) => ({ id: `${name}${n}`, from: of(n), timestamp, type: "text", text: { body: `x${n}` } }))
  const countOf = async (address: string, at: TestHost = host) => (await conversationOf(at, "chatapp", `+${address}`))?.message_count ?? 0

  it("are answered before they are taken in, and call no model for conversations that were idle already", async () => {
    const count = byTier({ fast: 400, slow: 8_000, soak: 8_000 })
    let rounds = 0
    const { milliseconds } = await repeatedLongestTurn(async () => {
      const payload = metaPayload({ messages: messages(`q${++rounds}-`, count, person) })
      expect((await postMetaPayload(urls.meta, payload)).status).to.equal(200)
      await until("the last message", async () => (await countOf(person(count - 1))) === rounds)
    })
    expectShortTurn(milliseconds)
    await until("each being closed", async () => (await conversationOf(host, "chatapp", `+${person(count - 1)}`))?.idle_closed_at)
    expect(server.asked).to.deep.equal([])
    const { body } = await host.api<{ executions: { id: string }[] }>("GET", "/v1/event-pipelines/webhooks-of-meta-whatsapp/executions")
    expect(body.executions).to.have.length(rounds)
  })

  it("count each message once when they come again", async () => {
    const from = "493099990001"
    const payload = metaPayload({ messages: messages("again", 3 * perPiece, () => from, String(Math.floor(Date.now() / 1_000))) })
    for (let time = 0; time < 2; time++) expect((await postMetaPayload(urls.meta, payload)).status).to.equal(200)
    await until("all of them", async () => (await countOf(from)) === 3 * perPiece)
    const newest = await host.api<{ messages: { text: string }[] }>(
      "GET",
      `/v1/voice/chatapp-conversations/${(await conversationOf(host, "chatapp", `+${from}`))?.session_id}?limit=1`,
    )
    expect(newest.body.messages.map(({ text }) => text)).to.deep.equal([`x${3 * perPiece - 1}`])
  })

  it("are cut in a history and in reports too", async () => {
    const threads = Array.from({ length: 40 }, (_, n) => ({
      id: person(50_000 + n),
      messages: messages(`h${n}-`, 3, () => person(50_000 + n)),
    }))
    const statuses = Array.from({ length: 120 }, (_, n) => ({ id: `s${n}`, status: "sent", timestamp: "1" }))
    const metadata = { display_phone_number: own.slice(1), phone_number_id: "1" }
    const changes = [
      { field: "history", value: { metadata, history: [{ threads }] } },
      { field: "messages", value: { metadata, statuses } },
    ]
    const { body } = await host.api<Ran>("POST", "/v1/event-pipelines/webhooks-of-meta-whatsapp/test", {
      payload: { object: "whatsapp_business_account", entry: [{ changes }] },
    })
    expect(JSON.stringify(body)).to.include('"deferred":190')
  })
})

type Ran = Readonly<Record<string, unknown>>

describe("pieces of a large delivery", () => {
  it("are charged to their organization before they are taken in", async () => {
    const host = await testHost({ capture: false, env: pluginSettings({ conversations: { pieces_per_minute: perMinute } }) })
    try {
      const urls = await makePipelines(host)
      const now = String(Math.floor(Date.now() / 1_000))
      const list = Array.from({ length: 8 * perPiece }, (_, n) => ({
        id: `c${n}`,
        from: "493099990002",
        timestamp: now,
        type: "text",
        text: { body: "x" },
      }))
      expect((await postMetaPayload(urls.meta, metaPayload({ messages: list }))).status).to.equal(200)
      const count = async () => (await conversationOf(host, "chatapp", "+493099990002"))?.message_count ?? 0
      const first = await until("the first pieces", async () => ((await count()) >= perPiece * (1 + perMinute) ? await count() : undefined))
      expect(first).to.be.lessThan(8 * perPiece)
      await until("the others", async () => {
        host.clock.move(20_000)
        return (await count()) === 8 * perPiece
      })
    } finally {
      await host.stop()
    }
  })
})
