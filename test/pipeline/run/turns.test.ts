// Deferred steps beside a silent destination. No time limit expires in these tests, so a step behind the silent destination would
// wait for ever.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { until } from "../../waiting.ts"

interface Pipeline {
  readonly inbound_url: string
  readonly slug: string
}

describe("turns of deferred steps", () => {
  let host: TestHost
  let answer: () => void
  let silence: Promise<void>
  const env = {
    MILLRACE_OUTGOING_TIMEOUT_MS: "3600000",
    MILLRACE_JOBS_POLL_MS: "200",
  }
  before(async () => {
    host = await testHost({ env })
  })
  after(() => host.stop())
  beforeEach(() => {
    host.outgoing.clear()
    silence = new Promise((resolve) => {
      answer = resolve
    })
    host.outgoing.fixtures.push(async ({ url }) => {
      if (new URL(url).hostname.startsWith("silent")) await silence
      return { status: 200, headers: {}, body: "" }
    })
  })
  afterEach(async () => {
    answer()
    await until("all deferred work to end", async () => {
      const { body } = await host.api<{ jobs: unknown[] }>("GET", "/v1/jobs?state=queued")
      return body.jobs.length === 0
    })
  })

  const make = async (name: string, step: object) => {
    const document = { name, state: "active", auth_mode: "none", pipeline: [{ ...step, timeout_ms: 600_000 }] }
    const { status, body } = await host.api<Pipeline>("POST", "/v1/event-pipelines", document)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const send = (pipeline: Pipeline, events: readonly object[]) => Promise.all(events.map((event) => host.send(pipeline, event)))
  const times = (count: number, event: (n: number) => object = () => ({})) => Array.from({ length: count }, (_, n) => event(n))
  const answered = () => host.calls.filter(({ url }) => !new URL(url).hostname.startsWith("silent"))
  const silent = () => host.calls.filter(({ url }) => new URL(url).hostname.startsWith("silent"))

  it("makes calls and sends mail of other pipelines while a receiver is silent", async () => {
    const hanging = await make("Silent receiver", { type: "http.request", url: "https://silent.example.com/" })
    const calls = await make("Other receiver", { type: "http.request", url: "https://other.example.com/" })
    const mails = await make("Mail", { type: "email.send", to: "ada@example.com", heading: "Hello" })
    await send(hanging, times(150))
    await until(() => silent().length > 0)
    await send(calls, times(30))
    await send(mails, times(30))
    await until("30 calls and 30 mails", () => answered().length === 30 && host.mails.length === 30)
    expect(silent().length).to.be.below(20)
    answer()
    await until("every call to the silent receiver", () => silent().length === 150)
  })

  it("calls other hosts of the same pipeline while one host is silent", async () => {
    const pipeline = await make("Any host", { type: "http.request", url: "https://{{ event.host }}.example.com/" })
    await send(
      pipeline,
      times(150, () => ({ host: "silent" })),
    )
    await send(
      pipeline,
      times(30, (n) => ({ host: `other-${n}` })),
    )
    await until("30 calls", () => answered().length === 30)
    expect(silent().length).to.be.below(20)
  })

  it("leaves slots to other pipelines while many receivers are silent", async () => {
    const hanging = await make("Many silent receivers", { type: "http.request", url: "https://silent-{{ event.n }}.example.com/" })
    const calls = await make("Quick receiver", { type: "http.request", url: "https://other.example.com/" })
    await send(
      hanging,
      times(150, (n) => ({ n })),
    )
    await send(calls, times(30))
    await until("30 calls", () => answered().length === 30)
    expect(silent().length).to.be.below(100)
  })

  it("calls through other connections while one connection is silent", async () => {
    for (const name of ["Silent", "Other"]) {
      const credentials = { base_url: `https://${name.toLowerCase()}.example.com` }
      await host.api("POST", "/v1/integrations-connect", { app: "http", name, share_with_org: true, credentials })
    }
    const hanging = await make("Silent connection", { type: "integration.call", integration: "silent", path: "/" })
    const calls = await make("Other connection", { type: "integration.call", integration: "other", path: "/" })
    await send(hanging, times(60))
    await send(calls, times(15))
    await until("15 calls", () => answered().length === 15)
    expect(silent().length).to.be.below(20)
  })

  it("lets one pipeline pass another at the same host", async () => {
    const slow = await make("Slow endpoint", { type: "http.request", url: "https://silent.example.com/slow" })
    const other = await make("Second endpoint", { type: "http.request", url: "https://silent.example.com/second" })
    await send(slow, times(60))
    await until(() => silent().length >= 12)
    await send(other, times(3))
    await until("the calls of the second pipeline", () => silent().filter(({ url }) => url.endsWith("/second")).length === 3)
    expect(silent().length).to.equal(15)
  })

  it("keeps the steps of a paused host, does not count their tries, and makes every call once the host answers", async () => {
    const pipeline = await make("Paused host", { type: "http.request", url: "https://silent.example.com/", retry: { max_attempts: 3 } })
    await send(pipeline, times(30))
    await until(() => silent().length >= 12)
    host.clock.move(3_600_000)
    await until("paused calls", async () => (await (await fetch(`${host.url}/metrics`)).text()).includes("millrace_breakers_open{"))
    for (let minute = 0; minute < 20; minute++) host.clock.move(60_000)
    answer()
    await until("every step to end", async () => {
      host.clock.move(60_000)
      const { body } = await host.api<{ jobs: unknown[] }>("GET", "/v1/jobs?state=queued")
      return body.jobs.length === 0
    })
    const { body } = await host.api<{ jobs: unknown[] }>("GET", "/v1/jobs?state=dead")
    expect(body.jobs).to.deep.equal([])
  })
})
