// Threads, agents and runs: the records of a run for each kind of agent, and impossible events.
import { createHmac } from "node:crypto"
import { expect } from "chai"
import { type Json, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { AgentRunCollection } from "../../../plugins/agents/threads/collections.ts"
import { runMachine } from "../../../plugins/agents/threads/runs/transitions.ts"
import { refusalOf } from "../../refusal.ts"
import { until } from "../../waiting.ts"
import { type AgentServer, agentServer } from "../evals/agent-server.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"

interface Run {
  readonly id: string
  readonly state: string
  readonly thread_id: string
  readonly attempt_number: number
  readonly output: string
  readonly summary: string
  readonly result_kind: string
  readonly handles: unknown[]
  readonly terminal_reason: string
  readonly cost_millicents: number
}
interface Refusal {
  readonly code: string
  readonly details: {
    readonly reason?: string
    readonly possible?: string[]
    readonly guard?: string
    readonly fields?: { path: string }[]
  }
}

const hourMs = 3_600_000

describe("threads", () => {
  let host: TestHost
  let agent: AgentServer
  let models: ModelServer
  let secret: string
  before(async () => {
    ;[agent, models] = [await agentServer(), await modelServer()]
    const settings = {
      models: { default: { base_url: models.url, model: "m-1", prices: { input: 1_000, output: 1_000 } }, max_retries: 0 },
    }
    const env = {
      MILLRACE_OUTGOING_ALLOW_HOSTS: new URL(agent.url).host,
      MILLRACE_JOBS_POLL_MS: "50",
      MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings),
    }
    host = await testHost({ capture: false, env })
    const credentials = { base_url: agent.url }
    await host.api("POST", "/v1/integrations-connect", { app: "http", name: "Agents", credentials, share_with_org: true })
    const response = await host.api<{ secret: string }>("POST", "/v1/agents", {
      key: "worker",
      name: "Worker",
      protocol: "webhook",
      integration: "agents",
      path: "/work",
    })
    secret = response.body.secret
    await host.api("POST", "/v1/agents", { key: "writer", name: "Writer", protocol: "model", instructions: "You write." })
  })
  after(async () => {
    await host.stop()
    await agent.close()
    await models.close()
  })
  beforeEach(() => {
    agent.forget()
    models.forget()
    models.answer(() => "Fine.")
  })

  const start = async (agent_key: string, input: string, more: object = {}) => {
    const { status, body } = await host.api<Run>("POST", "/v1/agent-runs", { agent_key, input, ...more })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const read = async ({ id }: Pick<Run, "id">) => (await host.api<Run>("GET", `/v1/agent-runs/${id}`)).body
  const reaching = (run: Run, state: string) =>
    until(`the run being ${state}`, async () => {
      const now = await read(run)
      return now.state === state ? now : undefined
    })
  const steps = async ({ id }: Run) =>
    (await host.api<{ steps: { kind: string; detail: string; attempt_number: number }[] }>("GET", `/v1/agent-runs/${id}/steps`)).body.steps
  const messages = async (thread: string) =>
    (await host.api<{ messages: { role: string; author: string; content: string }[] }>("GET", `/v1/threads/${thread}/messages`)).body
      .messages
  /** Returns the messages of each call of the agent. */
  const messagesSent = () => agent.asked.map(({ body }) => (body["messages"] as { content: string }[]).map(({ content }) => content))
  const signed = (body: string, key = secret, at = host.clock.now()) => {
    const time = String(Math.floor(at / 1_000))
    const signature = `sha256=${createHmac("sha256", key).update(`${time}.${body}`).digest("hex")}`
    return { "content-type": "application/json", "x-signature-timestamp": time, "x-signature-256": signature }
  }
  const callBack = async (url: string, payload: object, headers?: Record<string, string>) => {
    const body = JSON.stringify(payload)
    const answer = await fetch(url, { method: "POST", body, headers: headers ?? signed(body) })
    return { status: answer.status, body: (await answer.json()) as Refusal & { state?: string } }
  }
  /** Starts a run with an agent that accepts it and calls back. */
  const handedOver = async (input: string) => {
    agent.answer(() => ({ status: 202 }))
    const run = await start("worker", input)
    await reaching(run, "waiting")
    return { run, url: String(agent.asked.at(-1)?.body["callback_url"]) }
  }

  it("keep messages in their order", async () => {
    const thread = (await host.api<{ id: string }>("POST", "/v1/threads", { title: "Launch" })).body.id
    for (const content of ["one", "two"]) await host.api("POST", `/v1/threads/${thread}/messages`, { content, role: "note" })
    expect((await messages(thread)).map(({ content }) => content)).to.deep.equal(["two", "one"])
    expect((await host.api("GET", `/v1/threads/${thread}`)).body).to.include({ title: "Launch", message_count: 2 })
    const nowhere = "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04"
    expect((await host.api<Refusal>("GET", `/v1/threads/${nowhere}`)).body.details.reason).to.equal("thread_not_found")
    expect((await host.api<Refusal>("GET", `/v1/agent-runs/${nowhere}`)).body.details.reason).to.equal("agent_run_not_found")
  })

  it("are what an agent by a model is shown, and where it answers", async () => {
    models.answer(({ text }) => `Heard: ${text}`)
    const first = await reaching(await start("writer", "A headline"), "succeeded")
    expect(first).to.include({ output: "Heard: A headline", attempt_number: 1, cost_millicents: 1, terminal_reason: "" })
    const again = await reaching(await start("writer", "Shorter", { thread_id: first.thread_id }), "succeeded")
    expect(models.asked.at(-1)?.system).to.equal("You write.")
    expect(again.output).to.contain("assistant: Heard: A headline").and.to.contain("user: Shorter")
    expect((await messages(first.thread_id)).map(({ role }) => role)).to.deep.equal(["agent", "user", "agent", "user"])
    expect((await steps(first)).map(({ kind }) => kind)).to.deep.equal(["succeeded", "asked", "queued"])
  })

  it("send a webhook what it is to do, signed, and keep what it made", async () => {
    const handles = [{ resource_type: "page", resource_id: "p-1", revision_ref: "3" }]
    const answer = {
      output: "Done.",
      summary: "A page",
      result_kind: "page",
      handles: [...handles, { resource_type: 7 }],
      cost_millicents: 12.5,
    }
    agent.answer(() => ({ body: answer }))
    const run = await reaching(await start("worker", "Make a page"), "succeeded")
    expect(run).to.deep.include({ output: "Done.", summary: "A page", result_kind: "page", handles, cost_millicents: 13 })
    const [request] = agent.asked
    expect(request?.body).to.include({ run_id: run.id, input: "Make a page", agent_key: "worker", attempt_number: 1 })
    const time = String(request?.headers["x-signature-timestamp"])
    const expected = createHmac("sha256", secret)
      .update(`${time}.${JSON.stringify(request?.body)}`)
      .digest("hex")
    expect(request?.headers["x-signature-256"]).to.equal(`sha256=${expected}`)
  })

  it("wait for an agent that calls back, and take nothing that it did not sign", async () => {
    const { run, url } = await handedOver("Take your time")
    const refusals = [
      await callBack(url, { output: "Forged" }, signed("{}")),
      await callBack(url, { output: "Forged" }, signed(JSON.stringify({ output: "Forged" }), "whsec_other")),
      await callBack(url, { output: "Late" }, signed(JSON.stringify({ output: "Late" }), secret, host.clock.now() - 400_000)),
      await callBack(url.replace(/\/1\?/, "/2?"), { output: "Early" }),
      await callBack(url.replace(/\?.*/, ""), { output: "Without a token" }),
      await callBack(url.replace(/token=.{4}/, "token=AAAA"), { output: "Another token" }),
      await callBack(url.replace(run.id, "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04"), { output: "Nobody's" }),
      await callBack(url.replace(/callbacks\/[^/]+/, "callbacks/elsewhere"), { output: "Elsewhere" }),
    ]
    for (const { status, body } of refusals) expect([status, body.details.reason]).to.deep.equal([401, "callback_refused"])
    expect((await read(run)).state).to.equal("waiting")
    // A signed call of one run is invalid at the address of another.
    const other = await handedOver("Another run")
    const [token] = /token=.*/.exec(url) ?? [""]
    const body = JSON.stringify({ output: "Repeated" })
    expect((await callBack(other.url.replace(/token=.*/, token), { output: "Repeated" }, signed(body))).status).to.equal(401)
    expect((await read(other.run)).state).to.equal("waiting")
    expect((await callBack(other.url, { output: "Ended." })).status).to.equal(200)
    expect((await callBack(url, { step: "Half way" })).body.state).to.equal("waiting")
    expect((await callBack(url, { summary: "No output" })).body.details.reason).to.equal("agent_unusable")
    expect((await callBack(url, { output: "There." })).body.state).to.equal("succeeded")
    expect((await read(run)).output).to.equal("There.")
    expect((await steps(run)).map(({ kind }) => kind)).to.deep.equal(["succeeded", "reported", "handed_over", "asked", "queued"])
    const late = await callBack(url, { output: "Another" })
    expect([late.status, late.body.details.reason]).to.deep.equal([400, "transition_impossible"])
    expect((await read(run)).output).to.equal("There.")
  })

  it("take no answer of a run that was canceled, and ask once more when it is resumed", async () => {
    const { run, url } = await handedOver("Never mind")
    const canceled = (await host.api<Run>("POST", `/v1/agent-runs/${run.id}/cancel`, { reason: "Not needed" })).body
    expect(canceled).to.include({ state: "canceled", terminal_reason: "Not needed" })
    expect((await callBack(url, { output: "Too late" })).body.details.reason).to.equal("transition_impossible")
    agent.answer(() => "Second time")
    expect((await host.api<Run>("POST", `/v1/agent-runs/${run.id}/resume`)).body).to.include({ state: "queued", attempt_number: 2 })
    expect((await reaching(run, "succeeded")).output).to.equal("Second time")
    expect((await callBack(url, { output: "Too late" })).status).to.equal(401)
    expect(new Set(agent.asked.map(({ headers }) => headers["idempotency-key"])).size).to.equal(2)
  })

  it("end as failed, with the reason", async () => {
    agent.answer(() => ({ status: 400 }))
    expect((await reaching(await start("worker", "Refused"), "failed")).terminal_reason).to.contain("answered 400")
    const { url } = await handedOver("Gives up")
    expect((await callBack(url, { error: "I cannot." })).body.state).to.equal("failed")
    const { run } = await handedOver("Forgets")
    await host.clock.move(25 * hourMs)
    expect((await reaching(run, "failed")).terminal_reason).to.equal("The agent did not call back in time.")
    await host.api("POST", "/v1/agents", { key: "leaving", name: "Leaving", protocol: "model" })
    models.answer(() => ({ status: 400 }))
    const remaining = await reaching(await start("leaving", "One"), "failed")
    await host.api("DELETE", "/v1/agents/leaving")
    await host.api("POST", `/v1/agent-runs/${remaining.id}/resume`)
    // The reason is `agent_gone`.
    const failedRun = await until("the second failure", async () => {
      const now = await read(remaining)
      return now.state === "failed" && now.attempt_number === 2 ? now : undefined
    })
    expect(failedRun.terminal_reason).to.contain("was removed")
  })

  it("retry an agent that cannot answer now, as the same question", async () => {
    let tries = 0
    agent.answer(() => (++tries === 1 ? { status: 503 } : "Now."))
    const run = await start("worker", "Busy")
    await until("a try that failed", async () => (await steps(run)).some(({ kind }) => kind === "try_failed"))
    await host.api("POST", `/v1/threads/${run.thread_id}/messages`, { content: "Said meanwhile", role: "user" })
    await host.clock.move(60_000)
    expect((await reaching(run, "succeeded")).output).to.equal("Now.")
    expect(new Set(agent.asked.map(({ headers }) => headers["idempotency-key"])).size).to.equal(1)
    expect(messagesSent()).to.deep.equal([["Busy"], ["Busy"]])
  })

  it("show what was said before an agent is asked once more", async () => {
    const { run } = await handedOver("Write a headline")
    await host.api("POST", `/v1/threads/${run.thread_id}/messages`, { content: "In English", role: "user" })
    await host.api("POST", `/v1/agent-runs/${run.id}/cancel`)
    agent.answer(() => "A headline")
    await host.api("POST", `/v1/agent-runs/${run.id}/resume`)
    await reaching(run, "succeeded")
    expect(messagesSent()).to.deep.equal([["Write a headline"], ["Write a headline", "In English"]])
  })

  it("refuse every transition that is not in the table", async () => {
    const { id } = await start("writer", "Any")
    await reaching({ id } as Run, "succeeded")
    const set = (change: Record<string, Json>) =>
      host.get(UnitsOfWork).run((work) => work.in(AgentRunCollection, host.organization.id).update(id, { $set: change }))
    for (const state of Object.keys(runMachine.states)) {
      const possible = [...new Set(runMachine.transitions.filter((row) => row.state === state).map(({ event }) => event))]
      for (const event of ["cancel", "resume"] as const) {
        if (possible.includes(event)) continue
        await set({ state })
        const { status, body } = await host.api<Refusal>("POST", `/v1/agent-runs/${id}/${event}`)
        expect([status, body.details.reason, body.details.possible], `${event} of ${state}`).to.deep.equal([
          400,
          "transition_impossible",
          possible,
        ])
        expect((await read({ id })).state).to.equal(state)
      }
    }
    await set({ state: "failed", subject: { kind: "attempt", id: "a" } })
    const { body } = await host.api<Refusal>("POST", `/v1/agent-runs/${id}/resume`)
    expect([body.details.reason, body.details.guard]).to.deep.equal(["transition_guarded", "unbound"])
  })

  it("have agents whose secret is shown once, and whose way is checked", async () => {
    const rotated = (await host.api<{ secret: string }>("POST", "/v1/agents/writer/rotate-secret")).body.secret
    expect(rotated)
      .to.match(/^whsec_/)
      .and.to.not.equal(secret)
    const text = JSON.stringify([(await host.api("GET", "/v1/agents")).body, (await host.api("GET", "/v1/audit-log")).body, host.logged])
    expect(text).to.not.contain(rotated).and.to.not.contain(secret)
    const refused = [
      await host.api<Refusal>("POST", "/v1/agents", { key: "a", name: "A", protocol: "webhook" }),
      await host.api<Refusal>("PATCH", "/v1/agents/writer", { protocol: "webhook" }),
      await host.api<Refusal>("PATCH", "/v1/agents/worker", { protocol: "model" }),
    ]
    for (const { body } of refused) expect(body.details.fields?.[0]?.path, JSON.stringify(body)).to.equal("integration")
    const refusal = await refusalOf(host.invoke("agent_runs.start", { agent_key: "nobody", input: "Hm" }))
    expect(refusal.details.reason).to.equal("agent_not_found")
  })
})
