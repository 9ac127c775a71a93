// A node that is killed while it asks agents. Another node, or on the embedded file the next start, carries its runs on: each
// ends once, says that it was asked again, and is paid once.
import { type ChildProcess, spawn } from "node:child_process"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { expireLeases } from "../../expired-leases.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { outputUntil } from "../../processes.ts"
import { patiently, until } from "../../waiting.ts"
import { type AgentServer, agentServer } from "../evals/agent-server.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"

interface Run {
  readonly id: string
  readonly state: string
  readonly thread_id: string
  readonly attempt_number: number
  readonly output: string
  readonly terminal_reason: string
  readonly cost_millicents: number
}

const main = resolve(import.meta.dirname, "../../../core/main.ts")
/** What a call of the model costs: 100 tokens in and 20 out. */
const callMillicents = 120
const webhookMillicents = 7
const quick = 12

onBothStores("agent runs of a killed node", ({ storage }) => {
  let agent: AgentServer
  let models: ModelServer
  let env: Record<string, string>
  let killed: { readonly child: ChildProcess; readonly url: string }
  let survivor: TestHost | undefined
  let admin: string
  let secret: string
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-runs-"))
  before(async () => {
    ;[agent, models] = [await agentServer(), await modelServer()]
    const prices = { input: 1_000_000, output: 1_000_000 }
    const settings = { models: { default: { base_url: models.url, model: "m-1", prices }, max_retries: 0, max_day_millicents: 10_000_000 } }
    const store = await storage()
    const isShared = Object.keys(store).length > 0
    env = {
      ...store,
      MILLRACE_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
      MILLRACE_OUTGOING_ALLOW_HOSTS: new URL(agent.url).host,
      MILLRACE_JOBS_POLL_MS: "50",
      MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings),
    }
    if (isShared) survivor = await testHost({ dataDir, env, capture: false })
    killed = await started(isShared ? mkdtempSync(join(tmpdir(), "millrace-killed-")) : dataDir)
    const bootstrap = JSON.parse(readFileSync(join(dataDir, "bootstrap.json"), "utf8")) as { admin_key: string }
    admin = bootstrap.admin_key
  })
  after(async () => {
    killed?.child.kill("SIGKILL")
    await survivor?.stop()
    await agent.close()
    await models.close()
    rmSync(dataDir, { recursive: true, force: true })
  })

  async function started(folder: string) {
    const own = { ...env, PATH: process.env["PATH"], PORT: "0", MILLRACE_DATA_DIR: folder, MILLRACE_PIPELINES_PATHS: "," }
    const child = spawn(process.execPath, [main], { env: own, stdio: ["ignore", "pipe", "inherit"] })
    const said = await outputUntil(child, /"url":"http:[^"]+","msg":"listening"/)
    return { child, url: /"url":"(http:[^"]+)","msg":"listening"/.exec(said)?.[1] ?? "" }
  }
  const call = async <T>(url: string, method: string, path: string, body?: unknown): Promise<T> => {
    const headers = { authorization: `Bearer ${admin}`, ...(body === undefined ? {} : { "content-type": "application/json" }) }
    const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const answer = await patiently(() => fetch(`${url}${path}`, sent))
    const text = await answer.text()
    expect(answer.status, `${method} ${path}: ${text}`).to.equal(200)
    return JSON.parse(text) as T
  }
  const there = <T>(method: string, path: string, body?: unknown) => call<T>(killed.url, method, path, body)
  const here = <T>(path: string) => call<T>(survivor?.url ?? "", "GET", path)
  const start = (agent_key: string, input: string) => there<Run>("POST", "/v1/agent-runs", { agent_key, input })
  const ended = (id: string) =>
    until("the run having ended", async () => {
      const run = await here<Run>(`/v1/agent-runs/${id}`)
      return ["succeeded", "failed", "canceled"].includes(run.state) ? run : undefined
    })
  const steps = async (id: string) =>
    (await here<{ steps: { kind: string; detail: string }[] }>(`/v1/agent-runs/${id}/steps?limit=200`)).steps.reverse()
  const said = async ({ thread_id }: Run) =>
    (await here<{ messages: { role: string }[] }>(`/v1/threads/${thread_id}/messages`)).messages.map(({ role }) => role)
  const spentOn = async (slug: string) =>
    (await here<{ workstream: { spent_millicents: number } }>(`/v1/workstreams/${slug}`)).workstream.spent_millicents
  /** A workstream with assignments in work, and an attempt at each. */
  const attempts = async (slug: string, budget: number, count: number): Promise<string[]> => {
    await there("POST", "/v1/workstreams", { title: slug, slug, token_budget_millicents: budget })
    await there("POST", `/v1/workstreams/${slug}/transitions`, { event: "start" })
    const runs: string[] = []
    for (let n = 0; n < count; n++) {
      const path = `/v1/workstreams/${slug}/assignments`
      await there("POST", path, { assignment: `a${n}`, objective: `Write text ${n}.` })
      await there("POST", `${path}/a${n}/transitions`, { event: "assign", assigned_agent_key: "writer" })
      await there("POST", `${path}/a${n}/transitions`, { event: "begin" })
      const { latest_attempt } = await there<{ latest_attempt: { agent_run_id: string } }>("POST", `${path}/a${n}/attempts`, {})
      runs.push(latest_attempt.agent_run_id)
    }
    return runs
  }

  it("are carried on, each ends once, and is paid once", async () => {
    const credentials = { base_url: agent.url }
    await there("POST", "/v1/integrations-connect", { app: "http", name: "Agents", credentials, share_with_org: true })
    const webhook = { protocol: "webhook", integration: "agents", timeout_ms: 60_000 }
    ;({ secret } = await there<{ secret: string }>("POST", "/v1/agents", { ...webhook, key: "worker", name: "Worker", path: "/work" }))
    await there("POST", "/v1/agents", { key: "writer", name: "Writer", protocol: "model" })

    // One that calls back, two that are being asked, and one whose workstream has a budget for this call and no other.
    agent.answer(() => ({ status: 202 }))
    const waiting = await start("worker", "Call back.")
    await until("the agent having taken it", async () => (await there<Run>("GET", `/v1/agent-runs/${waiting.id}`)).state === "waiting")
    const { pathname, search } = new URL(String(agent.asked[0]?.body["callback_url"]))
    const callback = `${pathname}${search}`
    agent.answer(() => "silent")
    models.answer(() => "silent")
    const byWebhook = await start("worker", "Never answered at first.")
    const byModel = await start("writer", "Never answered at first.")
    const [tight = ""] = await attempts("tight", 4_100, 1)
    await until("the agents being asked", () => agent.asked.length === 2 && models.asked.length === 2)
    // And many that are answered in the moments around the kill.
    models.answer(() => "Done.")
    const begun = attempts("many", 1_000_000, quick).catch(() => [])
    await until("some of them being answered", () => models.asked.length >= 2 + quick / 2)
    const exit = once(killed.child, "exit")
    killed.child.kill("SIGKILL")
    await exit
    await begun

    agent.answer(() => ({ body: { output: "Done.", cost_millicents: webhookMillicents } }))
    survivor ??= await testHost({ dataDir, env, capture: false })
    await expireLeases(survivor)
    for (const [{ id }, cost] of [
      [byWebhook, webhookMillicents],
      [byModel, callMillicents],
      [{ id: tight }, callMillicents],
    ] as const) {
      const run = await ended(id)
      expect(run, run.terminal_reason).to.include({ state: "succeeded", output: "Done.", attempt_number: 1, cost_millicents: cost })
      expect((await steps(id)).map(({ kind }) => kind)).to.deep.equal(["queued", "asked", "asked", "succeeded"])
      expect((await steps(id))[2]?.detail).to.equal("again: the node that asked before did not finish")
    }
    expect(await said(byWebhook)).to.deep.equal(["agent", "user"])
    expect(await said(byModel)).to.deep.equal(["agent", "user"])
    // The lost call may have been paid, and counts as its estimate.
    expect(await spentOn("tight")).to.be.within(callMillicents, 4_100)
    const repeats = agent.asked.filter(({ body }) => body["run_id"] === byWebhook.id)
    expect(repeats).to.have.length(2)
    expect(new Set(repeats.map(({ headers }) => headers["idempotency-key"])).size).to.equal(1)

    // Runs whose start was committed, whether or not its answer came.
    const { agent_runs } = await here<{ agent_runs: Run[] }>("/v1/agent-runs?agent_key=writer&limit=200")
    const many = agent_runs.filter(({ id }) => id !== byModel.id && id !== tight)
    expect(many.length).to.be.at.least(quick / 2)
    for (const { id } of many) {
      const run = await ended(id)
      expect(run, run.terminal_reason).to.include({ state: "succeeded", output: "Done.", cost_millicents: callMillicents })
      expect((await steps(id)).filter(({ kind }) => kind === "succeeded")).to.have.length(1)
    }
    expect(await spentOn("many")).to.equal(many.length * callMillicents)
    const { assignments } = await here<{ assignments: { latest_attempt: { state: string } | null; adoption_state: string }[] }>(
      "/v1/workstreams/many",
    )
    const tried = assignments.filter(({ latest_attempt }) => latest_attempt !== null)
    expect(tried).to.have.length(many.length)
    for (const one of tried) expect([one.latest_attempt?.state, one.adoption_state]).to.deep.equal(["submitted", "proposed"])
    const { days } = await here<{ days: { millicents: number; calls: number }[] }>("/v1/models")
    expect(days[0]).to.include({ calls: many.length + 2, millicents: (many.length + 2) * callMillicents })

    // What was handed over is none of a node's: the agent calls whichever answers.
    const body = JSON.stringify({ output: "Called back.", cost_millicents: webhookMillicents })
    const time = String(Math.floor(Date.now() / 1_000))
    const signature = `sha256=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`
    const headers = { "content-type": "application/json", "x-signature-timestamp": time, "x-signature-256": signature }
    const answer = await fetch(`${survivor.url}${callback}`, { method: "POST", body, headers })
    expect([answer.status, await answer.json()]).to.deep.equal([200, { state: "succeeded" }])
    expect((await fetch(`${survivor.url}${callback}`, { method: "POST", body, headers })).status).to.equal(400)
    expect(await ended(waiting.id)).to.include({ output: "Called back.", cost_millicents: webhookMillicents })
    expect(await said(waiting)).to.deep.equal(["agent", "user"])
  })
})
