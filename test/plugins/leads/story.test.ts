// One person from a page's form to a merged lead: permissions of each channel, and one timeline with every step.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { patiently, until } from "../../waiting.ts"
import { connect, type Providers, providerEnv, startProviders } from "../conversations/providers.ts"
import { chatMessage, conversationsOf, type Endpoints, makePipelines, own, postMeta } from "../conversations/webhooks.ts"

/** One in the afternoon in Berlin. */
const noon = Date.parse("2026-11-24T12:00:00Z")
const [email, phone] = ["ada@example.com", "+4915112345678"]

interface Lead {
  readonly canonical_lead_id: string
  readonly lead_reference: string
}
interface Step {
  readonly kind: string
  readonly at: string
  readonly evidence: Record<string, unknown>
}
interface Refusal {
  readonly details: { reason?: string }
}

describe("a lead from a form to a merge", () => {
  let host: TestHost
  let providers: Providers
  let urls: Endpoints
  before(async () => {
    providers = await startProviders()
    host = await testHost({ capture: false, env: { ...providerEnv(providers), MILLRACE_JOBS_POLL_MS: "50" } })
    urls = await makePipelines(host)
    await connect(host, providers)
    host.clock.set(noon)
  })
  after(async () => {
    await host.stop()
    await providers.close()
  })

  const call = <T = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
    patiently(() => host.api<T & Refusal>(method, path, body))
  const leadOf = (query: string) =>
    until(`the lead of ${query}`, async () => (await call<{ leads: Lead[] }>("GET", `/v1/leads?${query}`)).body.leads[0])
  const writes = async (id: string, body: string | object, type = "text") => {
    host.clock.move(1_000)
    const { status } = await postMeta(urls.meta, chatMessage(id, phone, { at: host.clock.now(), name: "Ada", type, body }))
    expect(status).to.equal(200)
  }
  const send = (channel: string) => call("POST", "/v1/voice/messages", { channel, from: own, to: phone, text: "Hello" })
  const countSent = (channel: string) => providers.sent.filter((message) => message.to === phone && message.channel === channel).length
  const mayWrite = async (lead: Lead, channel: string) => {
    const { body } = await call<{ allowed: boolean }>("POST", "/v1/consents/check", { lead_id: lead.lead_reference, channel })
    return body.allowed
  }

  it("shows each step and its evidence", async () => {
    const form = await call<{ inbound_url: string; slug: string }>("POST", "/v1/event-pipelines", {
      name: "Contact form",
      state: "active",
      auth_mode: "none",
      pipeline: [
        { type: "dataset.write", dataset_slug: "leads", key: "email" },
        { type: "email.send", to: "{{ event.email }}", heading: "Thank you, {{ event.name }}" },
      ],
    })
    await host.send(form.body, { email, name: "Ada Lovelace" })
    const fromPage = await leadOf(`email=${email}`)

    await writes("wamid.hello", "Hello")
    await writes("wamid.place", { latitude: 52.5, longitude: 13.4, name: "Berlin" }, "location")
    const fromChat = await leadOf(`phone=${encodeURIComponent(phone)}`)
    expect(fromChat.canonical_lead_id).to.not.equal(fromPage.canonical_lead_id)
    expect((await send("chat_app")).status).to.equal(200)
    await until("the message by chat app", () => countSent("chat_app") === 1)

    await writes("wamid.stop", "STOP")
    await until("the opt-out", async () => !(await mayWrite(fromChat, "chat_app")))
    const refused = await send("chat_app")
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "recipient_opted_out"])
    expect([await mayWrite(fromChat, "sms"), await mayWrite(fromPage, "email")]).to.deep.equal([true, true])
    await host.send(form.body, { email, name: "Ada" })
    expect((await send("sms")).status).to.equal(200)
    await until("the text message", () => countSent("sms") === 1)

    await writes("wamid.start", "START")
    await until("the opt-in", () => mayWrite(fromChat, "chat_app"))
    expect((await send("chat_app")).status).to.equal(200)
    await until("the second message by chat app", () => countSent("chat_app") === 2)

    const merged = await call<Lead>("POST", `/v1/leads/${fromPage.lead_reference}/merge`, { other_lead_id: fromChat.lead_reference })
    expect(merged.status).to.equal(200)
    const [conversation] = await conversationsOf(host, "chatapp", `canonical_lead_id=${fromChat.lead_reference}`)
    expect(conversation).to.include({
      address: phone,
      canonical_lead_id: fromPage.canonical_lead_id,
      lead_reference: fromPage.lead_reference,
    })

    const expected = {
      "lead.created": 2,
      "pipeline.event": 2,
      "email.sent": 2,
      "chat_app.message_received": 4,
      "chat_app.message_sent": 2,
      "chat_app.opt_out": 1,
      "chat_app.opt_in": 1,
      "sms.message_sent": 1,
      "lead.merged": 1,
      "lead.merged_into": 1,
    }
    const count = Object.values(expected).reduce((sum, value) => sum + value, 0)
    const timeline = await until("every step", async () => {
      const { body } = await call<{ timeline: Step[] }>("GET", `/v1/leads/${fromPage.canonical_lead_id}/timeline`)
      return body.timeline.length >= count ? body.timeline : undefined
    })
    const kinds = timeline.map(({ kind }) => kind)
    expect(Object.fromEntries(Object.keys(expected).map((kind) => [kind, kinds.filter((name) => name === kind).length]))).to.deep.equal(
      expected,
    )
    expect(kinds).to.have.length(count)
    expect(timeline.map(({ at }) => at)).to.deep.equal(
      timeline
        .map(({ at }) => at)
        .sort()
        .reverse(),
    )
    const stepOf = (kind: string) => timeline.find((step) => step.kind === kind)?.evidence
    expect(stepOf("chat_app.opt_out")).to.include({ source: "keyword", wording: "STOP" })
    expect(stepOf("pipeline.event")).to.include({ pipeline: form.body.slug, dataset: "leads" })
    expect(timeline.some(({ evidence }) => (evidence["location"] as { name?: string } | undefined)?.name === "Berlin")).to.equal(true)
    expect(stepOf("email.sent")?.["to"]).to.deep.equal([email])
  })
})
