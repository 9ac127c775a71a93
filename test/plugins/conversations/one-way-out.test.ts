// Every message to a person passes the gate. Covers a pipeline with the number's own connection, an opt-out during an approval, a
// repeated call, and an opt-out during sending.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Integrations } from "../../../plugins/agents/integrations/index.ts"
import { refusalOf } from "../../refusal.ts"
import { patiently, until } from "../../waiting.ts"
import { memberOf } from "../approvals/gated-notes.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { businessId, connect, type Providers, providerEnv, type Sent, startProviders, take } from "./providers.ts"
import {
  chatMessage,
  conversationOf,
  type Endpoints,
  type Message,
  makePipelines,
  messagesOf,
  own,
  phoneNumberId,
  postMeta,
} from "./webhooks.ts"

/** One in the afternoon in Berlin. */
const noon = Date.parse("2026-11-24T12:00:00Z")
const minute = 60_000
const perMinute = 4
const settings = { messages_per_minute: perMinute, max_unanswered_per_day: 1_000 }

describe("the one way out", () => {
  let host: TestHost
  let providers: Providers
  let urls: Endpoints
  let count = 0
  before(async () => {
    providers = await startProviders()
    const env = { ...providerEnv(providers), MILLRACE_JOBS_POLL_MS: "50", ...pluginSettings({ conversations: settings }) }
    host = await testHost({ capture: false, env })
    urls = await makePipelines(host)
    await connect(host, providers)
    host.clock.set(noon)
  })
  after(async () => {
    await host.stop()
    await providers.close()
  })
  beforeEach(() => {
    providers.instead = () => false
    // Two minutes later all may be sent again.
    host.clock.move(2 * minute)
  })

  interface Answer {
    readonly message_id: string
    readonly state: string
    readonly approval_id: string
    readonly details?: { reason: string }
  }
  interface Made {
    readonly slug: string
    readonly inbound_url: string
  }
  interface Execution {
    readonly status: string
    readonly error: { code: string; message: string } | null
    readonly steps: Readonly<Record<string, { state: string }>>
  }
  const person = () => `+49156${10_000_000 + ++count}`
  const says = async (from: string, body: string) => {
    const { status } = await patiently(() => postMeta(urls.meta, chatMessage(`wamid.w${++count}`, from, { at: host.clock.now(), body })))
    expect(status).to.equal(200)
  }
  const send = (to: string, text: string, headers: Record<string, string> = {}) =>
    patiently(() => host.api<Answer>("POST", "/v1/voice/messages", { channel: "chat_app", from: own, to, text }, { headers }))
  const sentTo = (to: string) => providers.sent.filter((message) => message.to === to)
  const outgoing = async (to: string): Promise<Message[]> =>
    (await messagesOf(host, "chatapp", to)).filter(({ direction }) => direction === "out")
  const whenSettled = (to: string) =>
    until(`every message to ${to} being settled`, async () => {
      const messages = await outgoing(to)
      return messages.every(({ state }) => !["queued", "sending"].includes(state)) ? messages : undefined
    })

  it("is the only one through a number's connection, which everything else only reads", async () => {
    const to = person()
    await says(to, "STOP")
    const body = { messaging_product: "whatsapp", to, type: "text", text: { body: "Sneaked" } }
    const path = `/${phoneNumberId}/messages`
    const runCall = async (config: object) => {
      const pipeline = [{ type: "integration.call", integration: "meta", ...config }]
      const document = { name: `Sneak ${++count}`, state: "active", auth_mode: "none", pipeline }
      const { body: createdPipeline } = await patiently(() => host.api<Made>("POST", "/v1/event-pipelines", document))
      const { body: answer } = await patiently(() => host.send<{ execution_id: string }>(createdPipeline, {}))
      const path = `/v1/event-pipelines/${createdPipeline.slug}/executions/${answer.execution_id}`
      // A failed step is stored before the execution's failure.
      return until("the execution being over", async () => {
        const { body: execution } = await patiently(() => host.api<Execution>("GET", path))
        return execution.status === "failed" || Object.values(execution.steps)[0]?.state === "done" ? execution : undefined
      })
    }
    for (const step of [
      { method: "POST", path, body },
      { method: "GET", path, query: { method: "post", to } },
      { method: "GET", path, headers: { "X-HTTP-Method-Override": "POST" } },
    ]) {
      const { status, error } = await runCall(step)
      expect([status, error?.code], JSON.stringify(step)).to.deep.equal(["failed", "failed_precondition"])
      expect(error?.message).to.contain('leave through the integration "meta", so that other calls through it only read')
    }
    const refused = await refusalOf(host.get(Integrations).call(host.organization.id, "meta", { method: "POST", path, body }))
    expect(refused.details["reason"]).to.equal("connection_of_number")
    const read = await runCall({ method: "GET", path: `/${businessId}/message_templates` })
    expect([read.status, read.error]).to.deep.equal(["accepted", null])
    expect(sentTo(to)).to.deep.equal([])
  })

  it("lets a message go that a person approved, and not where its recipient opted out meanwhile", async () => {
    const { key: second } = await memberOf(host, "second")
    const decide = (id: string) =>
      patiently(() => host.api<{ state: string }>("POST", `/v1/approvals/${id}/decide`, { decision: "approve" }, { key: second }))
    const state = (id: string) =>
      until("the decision being carried out", async () => {
        const { body } = await host.api<{ state: string }>("GET", `/v1/approvals/${id}`)
        return ["done", "failed"].includes(body.state) ? body.state : undefined
      })
    const [willing, refusing] = [person(), person()]
    for (const to of [willing, refusing]) await says(to, "Hi")
    await host.api("PUT", "/v1/autonomy-gates", { gates: ["conversations.send"] })
    const responses = await Promise.all([willing, refusing].map((to) => send(to, "Approved")))
    expect(responses.map(({ body }) => body.state)).to.deep.equal(["pending_approval", "pending_approval"])
    host.clock.move(1_000)
    await says(refusing, "STOP")
    expect([sentTo(willing), sentTo(refusing)]).to.deep.equal([[], []])
    for (const { body } of responses) expect((await decide(body.approval_id)).status).to.equal(200)
    expect(await Promise.all(responses.map(({ body }) => state(body.approval_id)))).to.deep.equal(["done", "failed"])
    await until("the approved message", () => sentTo(willing).length === 1)
    expect((await decide(responses[0]?.body.approval_id ?? "")).status, "approved twice").to.not.equal(200)
    await whenSettled(willing)
    expect([sentTo(willing).length, sentTo(refusing).length]).to.deep.equal([1, 0])
    await host.api("PUT", "/v1/autonomy-gates", { gates: [] })
  })

  it("sends once for calls at once with one idempotency key, and refuses another call by it", async () => {
    const to = person()
    await says(to, "Hi")
    const key = { "idempotency-key": `at-once-${to}` }
    const ask = (text: string) =>
      host.api<Answer>("POST", "/v1/voice/messages", { channel: "chat_app", from: own, to, text }, { headers: key })
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask("Once")))
    const responses = answers.filter(({ status }) => status === 200)
    expect(responses).to.not.be.empty
    expect(answers.filter(({ status }) => status !== 200).map(({ status }) => status)).to.deep.equal(
      Array.from({ length: answers.length - responses.length }, () => 409),
    )
    expect(new Set([...responses.map(({ body }) => body.message_id), (await ask("Once")).body.message_id]).size).to.equal(1)
    expect((await ask("Another")).status).to.equal(400)
    await whenSettled(to)
    expect(sentTo(to).map(({ text }) => text)).to.deep.equal(["Once"])
  })

  it("is closed to who opts out while messages to them leave, from the answer to their word on", async () => {
    const people = Array.from({ length: perMinute }, person)
    for (const to of people) await says(to, "Hi")
    host.clock.move(2 * minute)
    const refused = new Set<string>()
    const late: Sent[] = []
    providers.instead = (message, response) => {
      if (refused.has(message.to)) late.push(message)
      providers.sent.push(message)
      take(message, response)
      return true
    }
    await Promise.all(
      people.map(async (to) => {
        const [answer] = await Promise.all([send(to, "Race"), says(to, "Stop.").then(() => refused.add(to))])
        expect([200, 400]).to.include(answer.status)
        const after = await send(to, "After")
        expect([after.status, after.body.details?.reason]).to.deep.equal([400, "recipient_opted_out"])
      }),
    )
    for (const to of people) {
      const messages = await whenSettled(to)
      for (const { state, text } of messages) expect([`${text} accepted`, `${text} refused`]).to.include(`${text} ${state}`)
      expect((await conversationOf(host, "chatapp", to))?.suppressed).to.equal(true)
    }
    // A call may be in progress when the opt-out arrives; no call starts after it.
    expect(late.map(({ text }) => text).filter((text) => text !== "Race")).to.deep.equal([])
  })

  it("takes so many messages a minute from a number, and has the others wait", async () => {
    const people = Array.from({ length: perMinute * 2 + 1 }, person)
    for (const to of people) await says(to, "Hi")
    host.clock.move(2 * minute)
    const before = providers.sent.length
    const began = host.clock.monotonic()
    for (const to of people) expect((await send(to, "Many")).status).to.equal(200)
    const sentCount = () => providers.sent.length - before
    await until("as many as a minute takes", () => sentCount() >= perMinute)
    for (const to of people.slice(0, 2)) await whenSettled(to)
    // On a busy machine the minute may pass meanwhile and allow another message.
    const more = Math.floor((host.clock.monotonic() - began) / (minute / perMinute))
    expect(sentCount()).to.be.within(perMinute, perMinute + more)
    // One by one: a call in flight would time out by a large move of the clock.
    while (sentCount() < people.length) {
      const present = sentCount()
      host.clock.move(20_000)
      await until("another one, as time goes on", () => sentCount() > present)
    }
    for (const to of people) {
      await whenSettled(to)
      expect(sentTo(to)).to.have.length(1)
    }
  })
})
