// `#core/testing`: mail, calls and broadcasts captured, a clock to move, events sent and operations called.
import { expect } from "chai"
import { AppError, OutgoingHttp } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { failureOf, refusalOf } from "../refusal.ts"
import { until } from "../waiting.ts"

interface Made {
  readonly slug: string
  readonly inbound_url: string
  readonly secret: string
}

/** Upper bounds of a random delay. The next try is so far away, it never comes by itself. */
const later = { initial_delay_ms: 86_400_000, max_delay_ms: 86_400_000 }

describe("a test host", () => {
  let host: TestHost
  let createdPipeline: Made
  before(async () => {
    host = await testHost()
    createdPipeline = await host.invoke<Made>("event_pipelines.create", {
      name: "Tried",
      state: "active",
      pipeline: [
        { type: "live.broadcast", channel: "leads", data: { email: "{{ event.email }}" } },
        { id: "mail", type: "email.send", to: "sales@example.com", heading: "A lead", retry: later, needs: [] },
        { id: "call", type: "http.request", url: "https://hooks.example.com/leads", body: { email: "{{ event.email }}" }, needs: [] },
      ],
    })
  })
  after(() => host.stop())

  const whenAttempted = (id: string, step: string) =>
    until(`an attempt of the step "${step}"`, async () => {
      const entry = await host.invoke<{ steps: Record<string, { state: string; attempts: number; next_at?: string }> }>(
        "event_pipelines.get_execution",
        { slug: createdPipeline.slug, id },
      )
      const item = entry.steps[step]
      return item && (item.state !== "pending" || item.next_at) ? item : undefined
    })

  it("sends nothing unless it is told to: what nobody answers fails, and mail is kept", async () => {
    const own = await testHost()
    try {
      const call = { id: "call", type: "http.request", url: "https://hooks.example.com/x", await: true }
      const mail = { id: "mail", type: "email.send", to: "a@example.com", heading: "Hi", await: true, needs: [] }
      const document = { name: "Leaving", state: "active", auth_mode: "none", pipeline: [mail, call] }
      const pipeline = await own.invoke<Made>("event_pipelines.create", document)
      expect((await own.send(pipeline, {})).status).to.equal(500)
      expect([own.mails.length, own.calls.length]).to.deep.equal([1, 1])
    } finally {
      await own.stop()
    }
  })

  it("keeps what would be sent, answers calls, and moves on to a retry that is a day away", async () => {
    let refused = 0
    host.outgoing.onMail = () => {
      if (refused++ === 0) throw new AppError("unavailable", "not now", { reason: "unavailable" })
    }
    host.outgoing.fixtures.push(({ url }) =>
      url.startsWith("https://hooks.example.com/") ? { status: 204, headers: {}, body: "" } : undefined,
    )
    const { status, body } = await host.send<{ execution_id: string }>(
      createdPipeline,
      { email: "ada@example.com" },
      { secret: createdPipeline.secret },
    )
    expect(status).to.equal(200)
    expect(await whenAttempted(body.execution_id, "call")).to.include({ state: "done" })
    expect(await whenAttempted(body.execution_id, "mail")).to.include({ state: "pending", attempts: 1 })
    expect(host.mails).to.deep.equal([])
    const broadcasts = [{ channel: "leads", event: "message", data: { email: "ada@example.com" } }]
    expect(await host.broadcasts("leads")).to.deep.equal(broadcasts)
    expect(await host.broadcasts("other")).to.deep.equal([])
    host.clock.move(later.initial_delay_ms)
    await until("the mail being sent", async () => (await whenAttempted(body.execution_id, "mail")).state !== "pending")
    // Older than the service's retention for subscribers.
    expect(await host.broadcasts("leads")).to.deep.equal(broadcasts)
    expect(host.mails.map(({ to, subject }) => [to, subject])).to.deep.equal([[["sales@example.com"], "A lead"]])
    expect(host.calls.map(({ method, url, body: sentBody }) => [method, url, sentBody])).to.deep.equal([
      ["POST", "https://hooks.example.com/leads", '{"email":"ada@example.com"}'],
    ])
  })

  it("refuses a call that no fixture answers, and sends nothing", async () => {
    const before = host.calls.length
    const error = await refusalOf(host.get(OutgoingHttp).fetch({ url: "https://elsewhere.example.com/", method: "GET" }))
    expect([error.code, error.details]).to.deep.equal(["failed_precondition", { reason: "no_fixture", retryable: false }])
    expect(host.calls.slice(before).map(({ url }) => url)).to.deep.equal(["https://elsewhere.example.com/"])
  })

  it("sends as it is told: unsigned events are refused and leave nothing", async () => {
    const before = [host.mails.length, host.calls.length]
    const broadcasts = await host.broadcasts()
    expect((await host.send(createdPipeline, { email: "eve@example.com" })).status).to.equal(401)
    expect((await host.send(createdPipeline, { email: "eve@example.com" }, { secret: "another" })).status).to.equal(401)
    expect([host.mails.length, host.calls.length]).to.deep.equal(before)
    expect(await host.broadcasts()).to.deep.equal(broadcasts)
  })

  it("calls operations as a caller would, with their errors", async () => {
    expect(await host.invoke("event_pipelines.get", { slug: createdPipeline.slug })).to.include({ slug: "tried", state: "active" })
    expect(await refusalOf(host.invoke("event_pipelines.get", { slug: "none" }))).to.have.property("code", "not_found")
    const wrong = host.invoke("event_pipelines.get", { slug: "tried" }, { key: "mr_api_wrong" })
    expect(await refusalOf(wrong)).to.have.property("code", "unauthenticated")
    const { message } = await failureOf(host.invoke("event_pipelines.none", {}))
    expect(message).to.include('The operation "event_pipelines.none" does not exist')
  })
})
