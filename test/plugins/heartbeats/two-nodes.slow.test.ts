// Heartbeats on two nodes with one MongoDB. One of them runs due heartbeats. If a node is killed during runs, each run is
// completed once or reported as interrupted.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { expireLeases } from "../../expired-leases.ts"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { outputUntil } from "../../processes.ts"
import { patiently, untilProcess as until } from "../../waiting.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"

interface Run {
  readonly id: string
  readonly status: string
  readonly reason: string
  readonly execution_id: string
  readonly steps: { readonly tool: string; readonly ok: boolean | null }[]
}

const main = resolve(import.meta.dirname, "../../../core/main.ts")
const onMongo = mongoAvailable ? describe : describe.skip
const script = { kind: "script", script_js: "function script(input) { return { run: input.run_id } }", pipeline_slug: "beats" }
const pipeline = {
  ...{ name: "Beats", source_kind: "internal", auth_mode: "none", state: "active" },
  pipeline: [{ type: "dataset.write", dataset_slug: "beats", row: { run: "{{ event.run }}" } }],
}
const masterKey = Buffer.alloc(32, 7).toString("base64")

onMongo("heartbeats on two nodes (mongodb)", () => {
  let server: ModelServer
  let host: TestHost
  let storage: Record<string, string>
  let other: ChildProcess | undefined
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-heartbeats-"))
  before(async () => {
    server = await modelServer()
    const models = { agent: { base_url: server.url, model: "agent-1", prices: { input: 0 } }, max_retries: 0 }
    storage = {
      MILLRACE_STORAGE_URL: await lendDatabaseToFile(),
      MILLRACE_MASTER_KEY: masterKey,
      MILLRACE_JOBS_POLL_MS: "50",
      MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ models }),
    }
    host = await testHost({ dataDir, env: storage, capture: false })
    await call("POST", "/v1/event-pipelines", pipeline)
  })
  after(async () => {
    other?.kill("SIGKILL")
    await host?.stop()
    await server?.close()
    rmSync(dataDir, { recursive: true, force: true })
  })

  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await patiently(() => host.api<T>(method, path, body))
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body
  }
  const createHeartbeat = (input: object) =>
    call<{ id: string; next_run_at: string }>("POST", "/v1/heartbeats", { name: "Beat", interval_minutes: 600, ...input })
  const runs = async (id: string) => (await call<{ runs: Run[] }>("GET", `/v1/heartbeats/${id}/runs`)).runs
  const isEnded = ({ status }: Run) => status !== "queued" && status !== "running"
  const countsWritten = async () => {
    const { rows } = await call<{ rows: { values: { run: string } }[] }>("GET", "/v1/datasets/beats/rows?limit=200")
    return rows.map(({ values }) => values.run)
  }

  it("carries each run out once, or says that it was interrupted, where its node is killed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-other-"))
    const env = { ...storage, PATH: process.env["PATH"], PORT: "0", MILLRACE_DATA_DIR: folder, MILLRACE_PIPELINES_PATHS: "," }
    other = spawn(process.execPath, [main], { env, stdio: ["ignore", "pipe", "inherit"] })
    const message = await outputUntil(other, /"url":"http:[^"]+","msg":"listening"/)
    const url = /"url":"(http:[^"]+)","msg":"listening"/.exec(message)?.[1] ?? ""
    const { admin_key } = JSON.parse(readFileSync(join(dataDir, "bootstrap.json"), "utf8")) as { admin_key: string }
    // A node runs its own commits: these belong to the other node.
    const runThere = async (id: string) => {
      const headers = { authorization: `Bearer ${admin_key}` }
      const answer = await patiently(() => fetch(`${url}/v1/heartbeats/${id}/run`, { method: "POST", headers }))
      expect(answer.status).to.equal(200)
    }
    const instructed = await createHeartbeat({
      ...{ kind: "instructions", instructions: "Write a row.", role: "member", tools: ["datasets.insert_rows"] },
    })
    server.answer(({ answers }) =>
      answers.length === 0
        ? { calls: [{ name: "datasets_insert_rows", input: { slug: "beats", rows: [{ run: "by a tool" }] } }] }
        : "silent",
    )
    await call("POST", "/v1/datasets", { name: "Beats" })
    await runThere(instructed.id)
    await until("the model being asked again", () => server.asked.length === 2)
    const scripts = await Promise.all(Array.from({ length: 40 }, () => createHeartbeat(script)))
    const started = scripts.map(({ id }) => runThere(id).catch(() => undefined))
    await Promise.race(started)
    await Promise.all(started.slice(0, 25))
    const ended = once(other, "exit")
    other.kill("SIGKILL")
    await ended
    await Promise.all(started)
    await expireLeases(host)
    rmSync(folder, { recursive: true, force: true })

    await until("the lost run being reported", async () => (await runs(instructed.id)).every(isEnded))
    const [lost] = await runs(instructed.id)
    expect(lost).to.include({ status: "interrupted", reason: "interrupted" })
    expect(lost?.steps.map(({ tool, ok }) => [tool, ok])).to.deep.equal([["datasets_insert_rows", true]])
    const all: Run[] = []
    for (const { id } of scripts) {
      await until("the run of a script having ended", async () => (await runs(id)).every(isEnded))
      all.push(...(await runs(id)))
    }
    expect(all.length).to.be.at.least(25)
    expect(all.map(({ status }) => status)).to.deep.equal(all.map(() => "succeeded"))
    // One event per run, and one effect of the tool.
    expect((await countsWritten()).sort()).to.deep.equal([...all.map(({ id }) => id), "by a tool"].sort())
    expect(server.asked).to.have.length(2)
  })

  it("is run by one node when it is due", async () => {
    const second = await testHost({ dataDir, env: storage, capture: false })
    second.clock.move(host.clock.now() - second.clock.now())
    try {
      const before = (await countsWritten()).length
      const due = await Promise.all(Array.from({ length: 10 }, () => createHeartbeat({ ...script, interval_minutes: 1 })))
      await Promise.all([host.clock.move(61_000), second.clock.move(61_000)])
      for (const { id } of due) await until("a run having ended", async () => (await runs(id)).filter(isEnded).length > 0)
      for (const { id } of due) expect((await runs(id)).map(({ status }) => status)).to.deep.equal(["succeeded"])
      expect((await countsWritten()).length - before).to.equal(10)
    } finally {
      await second.stop()
    }
  })
})
