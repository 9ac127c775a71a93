// One person by form, mail, chat app and text message: one lead with a complete timeline.
import { expect } from "chai"
import { testHost } from "#core/testing"
import { patiently, until } from "../../waiting.ts"
import { chatMessage, conversationOf, makePipelines, own, postMeta, postTwilio } from "../conversations/webhooks.ts"
import { message, type Receiving, startReceiving } from "../inbound-mail/receiving.ts"

interface Lead {
  readonly canonical_lead_id: string
  readonly lead_reference: string
  readonly emails: string[]
  readonly phones: string[]
}

const phone = "+4915112345699"

describe("a lead on every channel", () => {
  let service: Receiving
  before(async () => {
    service = await startReceiving({ start: (options) => testHost({ capture: false, ...options }) })
    await service.activate("example.com")
  })
  after(async () => {
    await service.host.stop()
    await service.dns.close()
  })

  it("is one, by address and number in whichever spelling, and not who a program wrote for", async () => {
    const { host } = service
    const call = async <T = Record<string, unknown>>(method: string, path: string, body?: object) => {
      const answer = await patiently(() => host.api<T>(method, path, body))
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body
    }
    const urls = await makePipelines(host)
    await call("PUT", "/v1/lead-settings", { default_region: "DE" })
    const form = await call<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: "Form",
      state: "active",
      auth_mode: "none",
      pipeline: [{ type: "dataset.write", dataset_slug: "leads", key: "email" }],
    })
    const mail = (id: string, more: Record<string, string>) =>
      service.send(
        "x@elsewhere.test",
        "team@example.com",
        message({ To: "team@example.com", "Message-ID": `<${id}@elsewhere.test>`, ...more }),
      )
    await mail("one", { From: "Ada Lovelace <ADA@Elsewhere.TEST>" })
    await mail("two", { From: "Robot <robot@elsewhere.test>", "Auto-Submitted": "auto-generated" })
    await postMeta(urls.meta, chatMessage("wamid.every1", phone, { at: Date.now() - 60_000, name: "Ada", body: "Hello" }))
    await host.send(form, { email: " ada@ELSEWHERE.test", name: "Ada L.", phone: "0151 / 123 456 99" })
    await postTwilio(urls.twilio, { MessageSid: "SMevery1", From: phone, To: own, Body: "Hello", SmsStatus: "received" })

    await until("both mails", async () => {
      const { conversations } = await call<{ conversations: { address: string }[] }>("GET", "/v1/email-conversations")
      const addresses = conversations.map(({ address }) => address)
      return addresses.includes("ada@elsewhere.test") && addresses.includes("robot@elsewhere.test")
    })
    const of = async (query: string) => (await call<{ leads: Lead[] }>("GET", `/v1/leads?${query}`)).leads
    const byMail = await until("the lead of the address", async () => (await of("email=ada%40elsewhere.test"))[0])
    const byPhone = await until("the lead of the number", async () => (await of(`phone=${encodeURIComponent(phone)}`))[0])
    // A person who wrote by both before a row connected them is two leads until a merge.
    if (byMail.canonical_lead_id !== byPhone.canonical_lead_id)
      await call("POST", `/v1/leads/${byMail.lead_reference}/merge`, { other_lead_id: byPhone.lead_reference })
    const [lead, ...others] = await of("")
    expect(others).to.deep.equal([])
    expect([lead?.emails, lead?.phones]).to.deep.equal([["ada@elsewhere.test"], [phone]])
    const expectedKinds = ["chat_app.message_received", "email.received", "pipeline.event", "sms.message_received"]
    await until("every step", async () => {
      const { timeline } = await call<{ timeline: { kind: string }[] }>("GET", `/v1/leads/${lead?.lead_reference}/timeline`)
      return expectedKinds.every((kind) => timeline.some((step) => step.kind === kind))
    })
    for (const kind of ["chatapp", "text"] as const) {
      const { canonical_lead_id, lead_reference } = lead ?? expect.fail()
      expect(await conversationOf(host, kind, phone)).to.include({ canonical_lead_id, lead_reference })
    }
  })
})
