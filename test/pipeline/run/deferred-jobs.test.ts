// Cost and fairness of deferred steps: no job for a skipped step, and no delay of an organization's mail by another's hanging
// calls.
import { expect } from "chai"
import { JobQueue, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { deferredJob } from "../../../core/pipeline/run/deferred.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { until } from "../../waiting.ts"

interface Made {
  readonly slug: string
  readonly inbound_url: string
}
interface Entry {
  readonly status: string
  readonly steps: Record<string, { state: string }>
}

describe("jobs of deferred steps", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())
  const make = async (name: string, pipeline: readonly object[], options: { key?: string } = {}) => {
    const { status, body } = await host.api<Made>(
      "POST",
      "/v1/event-pipelines",
      { name, state: "active", auth_mode: "none", pipeline },
      options,
    )
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const sendTo = async (pipeline: Made, event: object) => {
    const { status, body } = await host.send<{ execution_id: string }>(pipeline, event)
    expect(status, JSON.stringify(body)).to.be.below(300)
    return body.execution_id
  }

  it("are not made for steps whose condition is known to be false, and made for the others", async () => {
    const queue = host.get(JobQueue)
    const { enqueue } = queue
    let requestCount = 0
    // Counts only steps: schedules enqueue jobs at their own times.
    queue.enqueue = function (this: JobQueue, ...inputs) {
      if (inputs[1].type === deferredJob.type) requestCount++
      return enqueue.apply(this, inputs as never)
    } as JobQueue["enqueue"]
    try {
      host.outgoing.fixtures.push(() => ({ status: 200, headers: {}, body: '{"vip":false}' }))
      const pipeline = await make("Conditional", [
        { id: "call", type: "http.request", when: "event.score > 10", url: "https://crm.example.com/" },
        { id: "tell", type: "http.request", when: "steps.call.body.vip", url: "https://vip.example.com/" },
      ])
      const low = await sendTo(pipeline, { score: 1 })
      expect(requestCount).to.equal(0)
      const entry = await host.api<Entry>("GET", `/v1/event-pipelines/${pipeline.slug}/executions/${low}`)
      expect([entry.body.status, entry.body.steps["call"]?.state, entry.body.steps["tell"]?.state]).to.deep.equal([
        "accepted",
        "skipped",
        "skipped",
      ])
      expect(host.calls.length).to.equal(0)
      const high = await sendTo(pipeline, { score: 11 })
      expect(requestCount).to.equal(1)
      await until(async () => {
        const { body } = await host.api<Entry>("GET", `/v1/event-pipelines/${pipeline.slug}/executions/${high}`)
        return body.steps["call"]?.state === "done" && body.steps["tell"]?.state === "skipped"
      })
      expect(host.calls.map(({ url }) => String(url))).to.deep.equal(["https://crm.example.com/"])
    } finally {
      queue.enqueue = enqueue
      host.outgoing.clear()
    }
  })

  it("send one organization's mail while 400 calls of another hang", async () => {
    let letGo: () => void = () => {}
    const gate = new Promise<void>((resolve) => {
      letGo = resolve
    })
    host.outgoing.fixtures.push(async () => {
      await gate
      return { status: 200, headers: {}, body: "{}" }
    })
    // With the longest deadline: a call that timed out before the others arrived would be repeated.
    const call = { id: "call", type: "http.request", url: "https://slow.example.com/", timeout_ms: 600_000 }
    const flooding = await make("Hanging", [call])
    const own = await make("Own mail", [{ id: "mail", type: "email.send", to: "own@example.com", subject: "Own", heading: "Own" }])
    const key = await host.get(UnitsOfWork).run((work) => {
      const organizations = host.get(Organizations)
      const { id } = organizations.create(work, { name: "Other", slug: "other" })
      const owner = organizations.addUser(work, { email: "owner@other.test", name: "Other" })
      organizations.addMember(work, id, owner.id, "owner")
      return host.get(ApiKeys).mint(work, id, { name: "Key", kind: "api_key", role: "owner", scopes: null, user: owner.id }).text
    })
    const other = await make("Mail", [{ id: "mail", type: "email.send", to: "other@example.com", subject: "Other", heading: "Other" }], {
      key,
    })
    for (let n = 0; n < 400; n += 50) await Promise.all(Array.from({ length: 50 }, () => sendTo(flooding, { n })))
    await sendTo(other, {})
    await until(() => host.mails.length === 1)
    expect(host.mails[0]?.subject).to.equal("Other")
    await sendTo(own, {})
    letGo()
    await until("both mails and all calls", () => host.mails.length === 2 && host.calls.length === 400)
  })
})
