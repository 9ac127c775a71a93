// A service killed during a run, on both stores. The next service finishes the run. It repeats no stored request to the agent or
// the judge.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { outputUntil } from "../../processes.ts"
import { patiently, untilProcess as until } from "../../waiting.ts"
import { modelServer } from "../models/model-server.ts"
import { agentServer } from "./agent-server.ts"
import { bySight, type Run } from "./bench.ts"

const main = resolve(import.meta.dirname, "../../../core/main.ts")
const names = ["one", "two", "three", "four", "five", "six"]

describe("a run of an eval suite", () => {
  it("is finished after a kill", () => killed({}))

  const onMongo = mongoAvailable ? it : it.skip
  onMongo("is finished after a kill (mongodb)", async () => killed({ MILLRACE_STORAGE_URL: await lendDatabaseToFile() }))
})

async function killed(storage: Record<string, string>): Promise<void> {
  const [agent, judge] = [await agentServer(), await modelServer()]
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-killed-"))
  const models = { judge: { base_url: judge.url, model: "judge-1", prices: { input: 0 } } }
  const env = {
    ...storage,
    MILLRACE_OUTGOING_ALLOW_HOSTS: new URL(agent.url).host,
    MILLRACE_JOBS_POLL_MS: "50",
    // One answer at a time, so the stored answers are known when the service dies.
    MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ models, evals: { answers_at_once: 1 } }),
  }
  const service = spawn(process.execPath, [main], {
    env: { ...env, PATH: process.env["PATH"], PORT: "0", MILLRACE_DATA_DIR: dataDir, MILLRACE_PIPELINES_PATHS: "," },
    stdio: ["ignore", "pipe", "inherit"],
  })
  let host: TestHost | undefined
  try {
    const message = await outputUntil(service, /"url":"http:[^"]+","msg":"listening"/)
    const url = /"url":"(http:[^"]+)","msg":"listening"/.exec(message)?.[1] ?? ""
    const { admin_key } = JSON.parse(readFileSync(join(dataDir, "bootstrap.json"), "utf8")) as { admin_key: string }
    const call = async <T>(path: string, body: object): Promise<T> => {
      const headers = { authorization: `Bearer ${admin_key}`, "content-type": "application/json" }
      const answer = await patiently(() => fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) }))
      expect(answer.status, path).to.equal(200)
      return (await answer.json()) as T
    }
    await call("/v1/integrations-connect", { app: "http", name: "Agent", credentials: { base_url: agent.url }, share_with_org: true })
    await call("/v1/agents", { key: "desk", name: "Desk", protocol: "webhook", integration: "agent" })
    await call("/v1/evals/suites", { name: "Killed", slug: "killed", agent_key: "desk" })
    for (const name of names) await call("/v1/evals/suites/killed/cases", { name, input: `Question ${name}`, expectation: "Is right." })
    agent.answer(() => "It is right.")
    let isDead = false
    // The fourth verdict never arrives: its answer is stored, and the verdicts of the other two are not requested yet.
    judge.answer((request, place) => (place === 3 && !isDead ? "silent" : bySight(request)))
    const run = await call<Run>("/v1/evals/suites/killed/runs", { repeats: 1 })
    await until("the fourth answer being judged", () => judge.asked.length === 4)
    const ended = once(service, "exit")
    service.kill("SIGKILL")
    await ended
    isDead = true
    expect([agent.asked.length, judge.asked.length]).to.deep.equal([4, 4])
    host = await testHost({ dataDir, env, capture: false })
    // The dead service's lease expires.
    host.clock.move(host.runtime.config.jobs.lease_ms)
    const read = async () => (await host?.api<Run>("GET", `/v1/evals/suites/killed/runs/${run.id}`, undefined, { key: admin_key }))?.body
    await until("the run being finished", async () => (await read())?.status === "completed")
    expect(await read()).to.deep.include({ verdict: "passed", score: 100, unjudged_percent: 0 })
    expect(agent.asked.map(({ input }) => input)).to.have.members(names.map((name) => `Question ${name}`))
    // The one lost verdict was requested again.
    expect(judge.asked).to.have.length(7)
  } finally {
    service.kill("SIGKILL")
    await host?.stop()
    await agent.close()
    await judge.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
