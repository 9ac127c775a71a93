// Sent mail in its conversation and in its lead's timeline, for any number of mails at once.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { rivalOf } from "../../rival-commits.ts"
import { until } from "../../waiting.ts"

interface Conversation {
  readonly id: string
  readonly message_count: number
}

describe("sent mail", () => {
  let host: TestHost
  const api = async <T>(method: string, path: string, body?: object) => {
    const answer = await host.api<T>(method, path, body)
    expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([200, 201, 202])
    return answer.body
  }
  const pipeline = (name: string, steps: object[]) =>
    api<{ inbound_url: string; slug: string }>("POST", "/v1/event-pipelines", {
      name,
      state: "active",
      auth_mode: "none",
      pipeline: steps,
    })
  const conversationOf = async (address: string) => {
    const path = `/v1/email-conversations?address=${encodeURIComponent(address)}`
    return (await api<{ conversations: Conversation[] }>("GET", path)).conversations[0]
  }
  const grown = (address: string, count: number) =>
    until(`${count} mails in the conversation with ${address}`, async () => {
      const conversation = await conversationOf(address)
      return conversation?.message_count === count ? conversation : undefined
    })

  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  it("is in one conversation, each of forty mails to one address at one moment", async () => {
    const createdPipeline = await pipeline("Tell sales", [{ type: "email.send", to: "sales@example.net", heading: "Form {{ event.n }}" }])
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => host.send(createdPipeline, { n })))
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200))
    const { id } = await grown("sales@example.net", 40)
    const { messages } = await api<{ messages: { subject: string }[] }>("GET", `/v1/email-conversations/${id}?limit=100`)
    expect(new Set(messages.map(({ subject }) => subject)).size).to.equal(40)
    expect(host.logged.filter((line) => line.includes("conversation") && JSON.parse(line).level >= 40)).to.deep.equal([])
  })

  it("is in the timeline of its lead where two forms of the person come at once, and another node is faster", async () => {
    const createdPipeline = await pipeline("Thank", [
      { type: "dataset.write", dataset_slug: "signups", row: { email: "{{ event.email }}" } },
      { type: "email.send", to: "{{ event.email }}", heading: "Thanks for {{ event.n }}" },
    ])
    const rival = rivalOf(host, "email_conversations", 3)
    await Promise.all([1, 2].map((n) => host.send(createdPipeline, { email: "lea@example.net", n })))
    const subjects = await until("two mails in the timeline", async () => {
      const { leads } = await api<{ leads: { canonical_lead_id: string }[] }>("GET", "/v1/leads?email=lea@example.net")
      const lead = leads[0]?.canonical_lead_id
      if (lead === undefined) return undefined
      const { timeline } = await api<{ timeline: { kind: string }[] }>("GET", `/v1/leads/${lead}/timeline`)
      const mails = timeline.filter(({ kind }) => kind === "email.sent")
      return mails.length === 2 ? mails : undefined
    })
    rival.stop()
    expect([subjects.length, rival.met]).to.deep.equal([2, 3])
  })
})
