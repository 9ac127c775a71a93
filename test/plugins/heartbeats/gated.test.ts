// Heartbeats at gates, with a provider of models on loopback: what waits, who may decide it, and whether it is then done.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"

interface Run {
  readonly id: string
  readonly status: string
  readonly message: string
}
interface Approval {
  readonly id: string
  readonly why: string
  readonly input: unknown
}

const mail = (more: object = {}) => ({ id: "thank", type: "email.send", to: "{{ event.email }}", heading: "Thanks", ...more })

describe("heartbeats at gates", () => {
  let server: ModelServer
  let host: TestHost
  before(async () => {
    server = await modelServer()
    const model = { base_url: server.url, model: "agent-1", prices: { input: 1_000_000, output: 0 } }
    const settings = { models: { agent: model, max_retries: 0 } }
    host = await testHost({ capture: false, env: { MILLRACE_JOBS_POLL_MS: "50", MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
  })
  after(async () => {
    await host.stop()
    await server.close()
  })

  const run = async (id: string): Promise<Run> => {
    const started = (await host.api<Run>("POST", `/v1/heartbeats/${id}/run`)).body
    return await until("the run to end", async () => {
      const one = (await host.api<Run>("GET", `/v1/heartbeats/${id}/runs/${started.id}`)).body
      return ["queued", "running"].includes(one.status) ? undefined : one
    })
  }
  const pending = (look: (one: Approval) => boolean) =>
    until("the approval", async () => {
      const { approvals } = (await host.api<{ approvals: Approval[] }>("GET", "/v1/approvals?state=pending")).body
      return approvals.find(look)
    })

  it("cannot remove a gate from a pipeline, and their steps wait", async () => {
    const document = { name: "Letters", state: "active", source_kind: "internal", pipeline: [mail({ gate: true })] }
    expect((await host.api("POST", "/v1/event-pipelines", document)).status).to.equal(200)
    const tools = ["event_pipelines.update", "event_pipelines.send_event"]
    const body = { name: "Agent", kind: "instructions", interval_minutes: 60, instructions: "Send it.", role: "member", tools }
    const { id } = (await host.api<{ id: string }>("POST", "/v1/heartbeats", body)).body
    const update = (step: object) => ({ calls: [{ name: "event_pipelines_update", input: { slug: "letters", pipeline: [step] } }] })
    server.answer(({ answers }) => {
      if (answers.length === 0) return update(mail({ heading: "Mine" }))
      if (answers.length === 1) return update(mail({ gate: true, heading: "Mine" }))
      const event = { slug: "letters", payload: { email: "eve@example.com" } }
      return answers.length === 2 ? { calls: [{ name: "event_pipelines_send_event", input: event }] } : "Done."
    })
    expect(await run(id)).to.include({ status: "succeeded", message: "" })
    expect(server.asked[1]?.answers[0]).to.include("person_needed")
    const waiting = await pending(({ why }) => why.includes('"letters"'))
    expect(waiting.why).to.include("An agent changed pipeline")
    expect(waiting.input).to.deep.equal([{ to: "eve@example.com", heading: "Mine" }])
  })
})
