// A node killed during requests to agents. Another node, or on the embedded file the next start, continues its runs. Each run
// ends once, records the repeated request, and is paid once. Each lost model call counts once, as its estimate.
import { type ChildProcess, spawn } from "node:child_process"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { arrivals } from "../../../core/kernel/clock.ts"
import { expireLeases } from "../../expired-leases.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { outputUntil } from "../../processes.ts"
import { patiently, untilProcess as until } from "../../waiting.ts"
import { type AgentServer, agentServer } from "../evals/agent-server.ts"
import { type ModelRequest, type ModelServer, modelServer } from "../models/model-server.ts"

interface Run {
  readonly id: string
  readonly state: string
  readonly thread_id: string
  readonly attempt_number: number
  readonly input: string
  readonly output: string
  readonly terminal_reason: string
  readonly cost_millicents: number
}

interface Day {
  readonly calls: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly millicents: number
}

const main = resolve(import.meta.dirname, "../../../core/main.ts")
/** Cost of a model call: 100 tokens in and 20 out. */
const callMillicents = 120
const webhookMillicents = 7
const quick = 12
const never = "Never answered at first."
/** Estimate of a call: its bytes, two a token, and 2,000 tokens of output. */
const estimateOf = ({ system, text }: ModelRequest) => (Buffer.byteLength(system) + Buffer.byteLength(text)) / 2 + 2_000
const sum = (numbers: readonly number[]) => numbers.reduce((all, value) => all + value, 0)

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
    const model = { base_url: models.url, model: "m-1", prices }
    // A silent call waits for the kill on a slow machine too.
    const limits = { max_retries: 0, concurrency: 4 * quick, timeout_ms: 300_000 }
    const settings = { models: { default: model, ...limits }, threads: { run_slots: 4 * quick } }
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
    const message = await outputUntil(child, /"url":"http:[^"]+","msg":"listening"/)
    return { child, url: /"url":"(http:[^"]+)","msg":"listening"/.exec(message)?.[1] ?? "" }
  }
  const call = async <T>(url: string, method: string, path: string, body?: unknown): Promise<T> => {
    const headers = { authorization: `Bearer ${admin}`, ...(body === undefined ? {} : { "content-type": "application/json" }) }
    const message = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const answer = await patiently(() => fetch(`${url}${path}`, message))
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
  const rolesOf = async ({ thread_id }: Run) =>
    (await here<{ messages: { role: string }[] }>(`/v1/threads/${thread_id}/messages`)).messages.map(({ role }) => role)
  const spentOn = async (slug: string) =>
    (await here<{ workstream: { spent_millicents: number } }>(`/v1/workstreams/${slug}`)).workstream.spent_millicents
  /** A workstream with assignments in work, and an attempt at each. */
  const attempts = async (slug: string, token_budget_millicents: number, count: number, agent = "writer"): Promise<string[]> => {
    await there("POST", "/v1/workstreams", { title: slug, slug, token_budget_millicents })
    await there("POST", `/v1/workstreams/${slug}/transitions`, { event: "start" })
    const runs: string[] = []
    for (let n = 0; n < count; n++) {
      const path = `/v1/workstreams/${slug}/assignments`
      await there("POST", path, { assignment: `a${n}`, objective: `Write text ${n} of ${slug}.` })
      await there("POST", `${path}/a${n}/transitions`, { event: "assign", assigned_agent_key: agent })
      await there("POST", `${path}/a${n}/transitions`, { event: "begin" })
      const { latest_attempt } = await there<{ latest_attempt: { agent_run_id: string } }>("POST", `${path}/a${n}/attempts`, {})
      runs.push(latest_attempt.agent_run_id)
    }
    return runs
  }

  it("are carried on, each ends once, and is paid once", async () => {
    const credentials = { base_url: agent.url }
    await there("POST", "/v1/integrations-connect", { app: "http", name: "Agents", credentials, share_with_org: true })
    const webhook = { protocol: "webhook", integration: "agents", timeout_ms: 300_000 }
    ;({ secret } = await there<{ secret: string }>("POST", "/v1/agents", { ...webhook, key: "worker", name: "Worker", path: "/work" }))
    await there("POST", "/v1/agents", { key: "writer", name: "Writer", protocol: "model" })

    // One run waits for a callback, and four for answers. The tight budget has room for one call and its repeat.
    agent.answer(() => ({ status: 202 }))
    const waiting = await start("worker", "Call back.")
    await until("the agent having taken it", async () => (await there<Run>("GET", `/v1/agent-runs/${waiting.id}`)).state === "waiting")
    const { pathname, search } = new URL(String(agent.asked[0]?.body["callback_url"]))
    const callback = `${pathname}${search}`
    const paidAnswer = { body: { output: "Done.", cost_millicents: webhookMillicents } }
    agent.answer(({ input }) => (input === never ? "silent" : paidAnswer))
    models.answer(() => "silent")
    const byWebhook = await start("worker", never)
    const byModel = await start("writer", never)
    const [tight = ""] = await attempts("tight", 4_100, 1)
    const [dropped = ""] = await attempts("dropped", 4_100, 1)
    await until("the agents being asked", () => agent.asked.length === 2 && models.asked.length === 3)
    // Its call continues until the kill. No other node repeats the call.
    expect((await there<Run>("POST", `/v1/agent-runs/${dropped}/cancel`)).state).to.equal("canceled")
    // The model answers many runs: half of them before the kill, the others at the kill.
    const { promise, resolve: answerAll } = Promise.withResolvers<void>()
    let answered = 0
    models.answer(() => {
      if (++answered === quick / 2) models.hold(promise)
      return "Done."
    })
    await attempts("many", 1_000_000, quick)
    await until("every call having reached the model", () => models.asked.length === 3 + quick)
    // More runs start around the kill. Their agent reports the costs.
    const running = attempts("plenty", 1_000_000, quick, "worker").catch(() => [])
    await until("some of them being asked", () => agent.asked.length >= 2 + quick / 2)
    const exit = once(killed.child, "exit")
    answerAll()
    await arrivals()
    killed.child.kill("SIGKILL")
    await exit
    await running

    models.hold(Promise.resolve())
    agent.answer(() => paidAnswer)
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
    expect(await rolesOf(byWebhook)).to.deep.equal(["agent", "user"])
    expect(await rolesOf(byModel)).to.deep.equal(["agent", "user"])
    const repeats = agent.asked.filter(({ body }) => body["run_id"] === byWebhook.id)
    expect(repeats).to.have.length(2)
    expect(new Set(repeats.map(({ headers }) => headers["idempotency-key"])).size).to.equal(1)

    const runsOf = async (key: string, except: readonly string[]) => {
      const { agent_runs } = await here<{ agent_runs: Run[] }>(`/v1/agent-runs?agent_key=${key}&limit=200`)
      return await Promise.all(agent_runs.filter(({ id }) => !except.includes(id)).map(({ id }) => ended(id)))
    }
    const inWorkstream = async (slug: string, runs: readonly Run[], cost: number) => {
      for (const run of runs) {
        expect(run, run.terminal_reason).to.include({ state: "succeeded", output: "Done.", cost_millicents: cost })
        expect((await steps(run.id)).filter(({ kind }) => kind === "succeeded")).to.have.length(1)
      }
      type Tried = { readonly latest_attempt: { readonly state: string } | null; readonly adoption_state: string }
      const { assignments } = await here<{ assignments: Tried[] }>(`/v1/workstreams/${slug}`)
      const tried = assignments.filter(({ latest_attempt }) => latest_attempt !== null)
      expect(tried).to.have.length(runs.length)
      for (const attempt of tried) expect([attempt.latest_attempt?.state, attempt.adoption_state]).to.deep.equal(["submitted", "proposed"])
    }
    // Runs with a committed start, with or without an answer.
    const plenty = await runsOf("worker", [waiting.id, byWebhook.id])
    expect(plenty.length).to.be.at.least(quick / 2)
    await inWorkstream("plenty", plenty, webhookMillicents)
    expect(await spentOn("plenty")).to.equal(plenty.length * webhookMillicents)
    const many = await runsOf("writer", [byModel.id, tight, dropped])
    expect(many).to.have.length(quick)
    await inWorkstream("many", many, callMillicents)

    // Every call reached the model. The last call of each run has its answer, and the earlier calls were lost.
    const callsOf = ({ input }: Run) => models.asked.filter(({ text }) => text.endsWith(input))
    const lostBy = (runs: readonly Run[]) => runs.flatMap((run) => callsOf(run).slice(0, -1).map(estimateOf))
    const charged = (runs: readonly Run[]) => runs.length * callMillicents + sum(lostBy(runs).map(Math.ceil))
    for (const run of many) expect((await steps(run.id)).filter(({ kind }) => kind === "asked")).to.have.length(callsOf(run).length)
    const [first, second] = [await ended(byModel.id), await ended(tight)]
    expect([lostBy([first]).length, lostBy([second]).length]).to.deep.equal([1, 1])
    expect(await spentOn("tight")).to.equal(charged([second]))
    expect(await spentOn("many")).to.equal(charged(many))

    // A canceled run does not repeat its call. A job books the call after its time limit.
    const canceled = callsOf(await ended(dropped)).map(estimateOf)
    expect(canceled).to.have.length(1)
    survivor.clock.move(400_000)
    await until("the last lost call being booked", async () => (await spentOn("dropped")) > 0)
    expect(await spentOn("dropped")).to.equal(sum(canceled.map(Math.ceil)))
    const recorded = [...many, first, second]
    const { days } = await here<{ days: Day[] }>("/v1/models")
    expect(sum(days.map(({ calls }) => calls))).to.equal(models.asked.length)
    expect(sum(days.map(({ input_tokens }) => input_tokens))).to.equal(recorded.length * 100)
    expect(sum(days.map(({ output_tokens }) => output_tokens))).to.equal(recorded.length * 20)
    const spent = recorded.length * callMillicents + sum(lostBy(recorded)) + sum(canceled)
    expect(sum(days.map(({ millicents }) => millicents))).to.be.closeTo(spent, 0.001)
    expect(await spentOn("tight")).to.equal(charged([second]))
    expect(await spentOn("many")).to.equal(charged(many))

    // A handed-over run belongs to no node: the agent calls any node that answers.
    const body = JSON.stringify({ output: "Called back.", cost_millicents: webhookMillicents })
    const time = String(Math.floor(survivor.clock.now() / 1_000))
    const signature = `sha256=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`
    const headers = { "content-type": "application/json", "x-signature-timestamp": time, "x-signature-256": signature }
    const url = `${survivor.url}${callback}`
    const answer = await patiently(() => fetch(url, { method: "POST", body, headers }))
    expect([answer.status, await answer.json()]).to.deep.equal([200, { state: "succeeded" }])
    expect((await patiently(() => fetch(url, { method: "POST", body, headers }))).status).to.equal(400)
    expect(await ended(waiting.id)).to.include({ output: "Called back.", cost_millicents: webhookMillicents })
    expect(await rolesOf(waiting)).to.deep.equal(["agent", "user"])
  })
})
