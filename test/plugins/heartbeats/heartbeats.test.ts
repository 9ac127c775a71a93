// Heartbeats of callers and runs of scripts, on both stores: on time, once, late, failing and paused.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { broadcastsOf } from "../../broadcasts.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"

interface Heartbeat {
  readonly id: string
  readonly revision: number
  readonly state: string
  readonly next_run_at: string
  readonly latest_status: string
  readonly latest_reason: string
  readonly failures: number
  readonly paused_reason: string
}

interface Run {
  readonly id: string
  readonly cause: string
  readonly status: string
  readonly due_at: string
  readonly reason: string
  readonly message: string
  readonly logs: { level: string; text: string }[]
  readonly result: unknown
  readonly execution_id: string
}

interface Refused {
  readonly code: string
  readonly message: string
  readonly details: { readonly reason?: string; readonly fields?: { readonly path: string }[] }
}

const minuteMs = 60_000
const counting = `function script(input) { return { count: ((input.previous || { count: 0 }).count) + 1, rows: input.datasets } }`

class Bench {
  readonly host: TestHost

  constructor(host: TestHost) {
    this.host = host
  }

  async create(input: object = {}, key?: string): Promise<Heartbeat> {
    const body = { name: "Count", kind: "script", interval_minutes: 60, script_js: counting, ...input }
    const answer = await this.host.api<Heartbeat>("POST", "/v1/heartbeats", body, key === undefined ? {} : { key })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body
  }

  refused(input: object, key = this.host.adminKey) {
    const body = { name: "Count", kind: "script", interval_minutes: 60, script_js: counting, ...input }
    return this.host.api<Refused>("POST", "/v1/heartbeats", body, { key })
  }

  async read(id: string): Promise<Heartbeat> {
    return (await this.host.api<Heartbeat>("GET", `/v1/heartbeats/${id}`)).body
  }

  async runs(id: string): Promise<Run[]> {
    return (await this.host.api<{ runs: Run[] }>("GET", `/v1/heartbeats/${id}/runs?limit=200`)).body.runs
  }

  /** Returns the newest run, once `count` runs have ended. */
  async ended(id: string, count: number): Promise<Run> {
    const isEnded = ({ status }: Run) => status !== "queued" && status !== "running"
    await until(`${count} runs having ended`, async () => (await this.runs(id)).filter(isEnded).length === count)
    const [run] = await this.runs(id)
    if (!run) throw new Error("no run")
    return run
  }

  async key(
    role: "guest" | "member" | "admin",
    scopes: readonly string[] | null,
    organization = this.host.organization.id,
  ): Promise<string> {
    return await this.host.get(UnitsOfWork).run((work) => {
      const keyOptions = {
        name: "Key",
        kind: scopes ? "token" : "api_key",
        role,
        scopes: scopes && [...scopes],
        manager: false,
        user: null,
      } as const
      return this.host.get(ApiKeys).mint(work, organization, keyOptions).text
    })
  }

  /** Creates an internal pipeline that writes its events to a dataset. */
  async pipeline(slug: string): Promise<void> {
    const document = {
      name: slug,
      slug,
      source_kind: "internal",
      auth_mode: "none",
      state: "active",
      pipeline: [{ type: "dataset.write", dataset_slug: `${slug}-rows`, row: { count: "{{ event.count }}" } }],
    }
    const { status, body } = await this.host.api("POST", "/v1/event-pipelines", document)
    expect(status, JSON.stringify(body)).to.equal(200)
  }
}

onBothStores("runs of heartbeats", ({ start }) => {
  let bench: Bench
  before(async () => {
    bench = new Bench(await start({ env: { MILLRACE_JOBS_POLL_MS: "50" } }))
  })

  it("runs a script with rows and its previous result, and sends what it returns as one event", async () => {
    const { host } = bench
    await host.api("POST", "/v1/datasets", { name: "Leads" })
    await host.api("POST", "/v1/datasets/leads/rows", {
      rows: [
        { email: "ada@example.com", n: 1 },
        { email: "grace@example.com", n: 2 },
      ],
    })
    await bench.pipeline("counts")
    const datasets = [{ slug: "leads", filter: '{"n":2}', limit: 10 }]
    const { id } = await bench.create({ datasets, pipeline_slug: "counts" })
    const run = (await host.api<Run>("POST", `/v1/heartbeats/${id}/run`)).body
    expect(run).to.include({ status: "queued", cause: "manual", result: null })
    const first = await bench.ended(id, 1)
    expect(first).to.include({ id: run.id, status: "succeeded", reason: "" })
    const { count, rows } = first.result as { count: number; rows: { leads: { values: object }[] } }
    expect(count).to.equal(1)
    expect(rows.leads.map(({ values }) => values)).to.deep.equal([{ email: "grace@example.com", n: 2 }])
    const execution = await host.api<{ status: string }>("GET", `/v1/event-pipelines/counts/executions/${first.execution_id}`)
    expect(execution.body.status).to.equal("accepted")
    await host.api("POST", `/v1/heartbeats/${id}/run`)
    expect((await bench.ended(id, 2)).result).to.include({ count: 2 })
    const response = await host.api<{ rows: { values: { count: number } }[] }>("GET", "/v1/datasets/counts-rows/rows")
    expect(response.body.rows.map(({ values }) => values.count)).to.deep.equal([2, 1])
    expect(await bench.read(id)).to.include({ latest_status: "succeeded", latest_reason: "", failures: 0 })
    const broadcasts = await broadcastsOf(host, "heartbeats", 2)
    expect(broadcasts.map(({ event, data }) => [event, (data as { status: string }).status])).to.deep.equal([
      ["heartbeat_run_ended", "succeeded"],
      ["heartbeat_run_ended", "succeeded"],
    ])
  })

  it("runs once at a time, for all callers", async () => {
    const { host } = bench
    const { id } = await bench.create({ name: "Twice" })
    const answers = await Promise.all([1, 2, 3].map(() => host.api<Refused>("POST", `/v1/heartbeats/${id}/run`)))
    await bench.ended(id, answers.filter(({ status }) => status === 200).length)
    for (const { status, body } of answers)
      if (status !== 200)
        expect([body.code, body.details.reason ?? "conflict"]).to.be.deep.oneOf([
          ["failed_precondition", "heartbeat_running"],
          ["aborted", body.details.reason ?? "conflict"],
        ])
  })
})

describe("heartbeats", () => {
  let bench: Bench
  before(async () => {
    bench = new Bench(await testHost({ env: { MILLRACE_JOBS_POLL_MS: "50" } }))
  })
  after(() => bench.host.stop())

  it("has the fields of the specification, lists with a total, and filters", async () => {
    const { host } = bench
    const window = { active_days: [1, 2, 3, 4, 5], active_window_start: "22:00", active_window_end: "06:00", timezone: "Europe/Berlin" }
    const heartbeat = await bench.create({ description: "Counts.", ...window })
    const fields =
      "active_days active_window_end active_window_start created_at description id instructions interval_minutes kind latest_status name next_run_at script_js state timezone"
    expect(heartbeat).to.include.all.keys(...fields.split(" "))
    expect(heartbeat).to.deep.include({ ...window, latest_status: "", state: "active", kind: "script", instructions: "" })
    const paused = await bench.create({ name: "Paused", state: "paused" })
    expect(paused.next_run_at).to.equal("")
    const list = async (query: string) =>
      (await host.api<{ heartbeats: Heartbeat[]; total: number; next_cursor: string }>("GET", `/v1/heartbeats${query}`)).body
    expect((await list("")).heartbeats.map(({ id }) => id)).to.deep.equal([paused.id, heartbeat.id])
    const first = await list("?limit=1")
    expect([first.total, first.heartbeats.length]).to.deep.equal([2, 1])
    expect((await list(`?limit=1&cursor=${first.next_cursor}`)).heartbeats.map(({ id }) => id)).to.deep.equal([heartbeat.id])
    expect(await list("?state=paused")).to.deep.include({ total: 1, heartbeats: [await bench.read(paused.id)] })
    expect((await list("?kind=instructions")).total).to.equal(0)
  })

  it("lists all heartbeats over REST without a page size", async () => {
    const { host } = bench
    for (let count = 0; count < 55; count++) await bench.create({ name: `Whole ${count}`, state: "paused" })
    const { body } = await host.api<{ heartbeats: Heartbeat[]; total: number; next_cursor: string }>("GET", "/v1/heartbeats?state=paused")
    expect([body.heartbeats.length, body.next_cursor]).to.deep.equal([body.total, ""])
    expect(body.total).to.be.at.least(55)
    const short = await host.api<{ heartbeats: Heartbeat[]; next_cursor: string }>("GET", "/v1/heartbeats?state=paused&limit=0")
    expect(short.body.heartbeats).to.have.length(50)
  })

  it("takes back what a read answered, changes what is given, and counts new times from now", async () => {
    const { host } = bench
    const heartbeat = await bench.create()
    const same = await host.api<Heartbeat>("PATCH", `/v1/heartbeats/${heartbeat.id}`, { ...heartbeat, id: undefined })
    expect([same.status, same.body]).to.deep.equal([200, heartbeat])
    const changed = await host.api<Heartbeat>("PATCH", `/v1/heartbeats/${heartbeat.id}`, { interval_minutes: 10, expected_revision: 1 })
    expect(Date.parse(changed.body.next_run_at)).to.be.below(Date.parse(heartbeat.next_run_at))
    expect((await host.api("PATCH", `/v1/heartbeats/${heartbeat.id}`, { interval_minutes: 5, expected_revision: 1 })).status).to.equal(409)
    expect((await host.api("PATCH", `/v1/heartbeats/${heartbeat.id}`, { kind: "instructions" })).status).to.equal(400)
    await host.clock.move(10 * minuteMs)
    await bench.ended(heartbeat.id, 1)
  })

  it("runs once an interval, makes one late run of those that were missed, and none while paused", async () => {
    const { host } = bench
    const heartbeat = await bench.create()
    const due = Date.parse(heartbeat.next_run_at)
    expect(due - host.clock.now()).to.be.within(59 * minuteMs, 60 * minuteMs)
    await host.clock.move(59 * minuteMs)
    expect(await bench.runs(heartbeat.id)).to.deep.equal([])
    await host.clock.move(minuteMs)
    const first = await bench.ended(heartbeat.id, 1)
    expect(first).to.include({ cause: "schedule", status: "succeeded", due_at: heartbeat.next_run_at })
    expect((await bench.read(heartbeat.id)).next_run_at).to.equal(new Date(due + 60 * minuteMs).toISOString())
    // Five hours at once: no node was running.
    host.clock.set(host.clock.now() + 300 * minuteMs)
    await host.clock.move(2_000)
    const late = await bench.ended(heartbeat.id, 2)
    expect(late.due_at).to.equal(new Date(due + 60 * minuteMs).toISOString())
    expect(await bench.runs(heartbeat.id)).to.have.length(2)
    const next = Date.parse((await bench.read(heartbeat.id)).next_run_at)
    expect(next - host.clock.now()).to.be.within(59 * minuteMs, 60 * minuteMs)

    expect((await host.api<Heartbeat>("POST", `/v1/heartbeats/${heartbeat.id}/pause`)).body).to.include({
      state: "paused",
      next_run_at: "",
    })
    await host.clock.move(120 * minuteMs)
    expect(await bench.runs(heartbeat.id)).to.have.length(2)
    const resumed = (await host.api<Heartbeat>("POST", `/v1/heartbeats/${heartbeat.id}/resume`)).body
    expect(resumed.state).to.equal("active")
    await host.clock.move(60 * minuteMs)
    await bench.ended(heartbeat.id, 3)
    await host.api("DELETE", `/v1/heartbeats/${heartbeat.id}`)
  })

  it("runs again after a restoration from the trash, and keeps its kind and state in a restored version", async () => {
    const { host } = bench
    const heartbeat = await bench.create({ name: "Restored" })
    const paused = await bench.create({ name: "Paused", state: "paused" })
    for (const { id } of [heartbeat, paused]) {
      await host.api("DELETE", `/v1/heartbeats/${id}`)
      expect((await host.api("POST", `/v1/trash/${id}/restore`)).status).to.equal(200)
    }
    expect(await bench.read(paused.id)).to.include({ state: "paused", next_run_at: "", revision: 2 })
    await host.clock.move(60 * minuteMs)
    expect(await bench.ended(heartbeat.id, 1)).to.include({ cause: "schedule", status: "succeeded" })

    await host.api("PATCH", `/v1/heartbeats/${heartbeat.id}`, { interval_minutes: 10 })
    await host.api("POST", `/v1/heartbeats/${heartbeat.id}/pause`)
    const path = `/v1/versions?resource=heartbeat&item_id=${heartbeat.id}`
    const { versions } = (await host.api<{ versions: { id: string; fields: object }[] }>("GET", path)).body
    expect(versions[0]?.fields).to.include({ interval_minutes: 10 }).and.not.have.any.keys("kind", "state")
    expect((await host.api("POST", `/v1/versions/${versions[1]?.id}/restore`)).status).to.equal(200)
    expect(await bench.read(heartbeat.id)).to.include({ interval_minutes: 60, state: "paused", next_run_at: "" })
    await host.api("DELETE", `/v1/heartbeats/${heartbeat.id}`)
  })

  it("puts a failing one off longer and longer, pauses it after five failures and says so", async () => {
    const { host } = bench
    const { id } = await bench.create({
      name: "Broken",
      interval_minutes: 1,
      script_js: "function script({ run_id }) { console.warn('unlucky', { password: run_id }); throw new Error('no luck') }",
    })
    for (let failures = 1; failures <= 5; failures++) {
      const wait = Date.parse((await bench.read(id)).next_run_at) - host.clock.now()
      // One minute, and then two, four, eight and sixteen.
      expect(wait, `before failure ${failures}`).to.be.within(0, 2 ** (failures - 1) * minuteMs)
      if (failures > 1) expect(wait).to.be.above(2 ** (failures - 2) * minuteMs)
      await host.clock.move(wait + 1_000)
      const run = await bench.ended(id, failures)
      expect(run).to.include({ status: "failed", reason: "script_threw", execution_id: "" })
      expect(run.message).to.include("no luck")
      expect(run.logs).to.deep.equal([{ level: "warn", text: 'unlucky {"password":"[redacted]"}' }])
      await until("the failure being counted", async () => (await bench.read(id)).failures === failures)
    }
    const paused = await bench.read(id)
    expect(paused).to.include({ state: "paused", next_run_at: "", latest_status: "failed", latest_reason: "script_threw" })
    expect(paused.paused_reason).to.include("5 runs in a row failed").and.include("no luck")
    const broadcasts = await broadcastsOf(host, "heartbeats", 1, ({ event }) => event === "heartbeat_paused")
    expect(broadcasts.map(({ data }) => (data as { heartbeat_id: string }).heartbeat_id)).to.deep.equal([id])
    await host.clock.move(60 * minuteMs)
    expect(await bench.runs(id)).to.have.length(5)
    expect((await host.api<Heartbeat>("POST", `/v1/heartbeats/${id}/resume`)).body).to.include({ failures: 0, paused_reason: "" })
    await host.api("DELETE", `/v1/heartbeats/${id}`)
  })

  it("refuses what does not go together, naming the fields", async () => {
    const before = await bench.host.api<{ total: number }>("GET", "/v1/heartbeats")
    const cases: [object, string][] = [
      [{ active_window_start: "09:00" }, "active_window_end"],
      [{ active_window_start: "09:00", active_window_end: "09:00" }, "active_window_end"],
      [{ script_js: "" }, "script_js"],
      [{ script_js: "function script( {" }, "script_js"],
      [{ instructions: "Do it." }, "instructions"],
      [{ pipeline_slug: "missing" }, "pipeline_slug"],
      [{ kind: "instructions", script_js: "", instructions: "" }, "instructions"],
    ]
    for (const [input, path] of cases) {
      const { status, body } = await bench.refused(input)
      expect([status, body.details.reason, body.details.fields?.[0]?.path], JSON.stringify(input)).to.deep.equal([
        400,
        "heartbeat_refused",
        path,
      ])
      expect(body.message).to.match(/[^.]\.$/)
    }
    for (const input of [
      { timezone: "+02:00" },
      { timezone: "Europe/Nowhere" },
      { active_days: [] },
      { active_days: [0] },
      { interval_minutes: 0 },
    ])
      expect((await bench.refused(input)).body.code, JSON.stringify(input)).to.equal("invalid_argument")
    expect((await bench.refused({ datasets: [{ slug: "nowhere" }] })).body.details.reason).to.equal("dataset_not_found")
    const unmodelled = await bench.refused({ kind: "instructions", script_js: "", instructions: "Look around." })
    expect(unmodelled.body.details.reason).to.equal("model_not_configured")
    expect((await bench.host.api<{ total: number }>("GET", "/v1/heartbeats")).body.total).to.equal(before.body.total)
  })

  it("is not a way to scopes that its maker does not have, and shows nothing of others", async () => {
    const { host } = bench
    await host.api("POST", "/v1/datasets", { name: "Secrets" })
    const token = await bench.key("member", ["heartbeats:write", "heartbeats:read"])
    const refused = await bench.refused({ datasets: [{ slug: "secrets" }] }, token)
    expect([refused.status, refused.body.details.reason]).to.deep.equal([403, "heartbeat_beyond_caller"])
    const heartbeat = await bench.create({}, token)
    const widened = await host.api<Refused>("PATCH", `/v1/heartbeats/${heartbeat.id}`, { datasets: [{ slug: "secrets" }] }, { key: token })
    expect([widened.status, widened.body.details.reason]).to.deep.equal([403, "heartbeat_beyond_caller"])

    const other = await host.get(UnitsOfWork).run((work) => host.get(Organizations).create(work, { name: "Other", slug: "other" }))
    const key = await bench.key("admin", null, other.id)
    for (const [method, path] of [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["POST", "/pause"],
      ["POST", "/resume"],
      ["POST", "/run"],
      ["GET", "/runs"],
    ] as const) {
      const body = method === "PATCH" ? { name: "Mine" } : undefined
      const answer = await host.api<Refused>(method, `/v1/heartbeats/${heartbeat.id}${path}`, body, { key })
      expect([answer.status, answer.body.details.reason], method + path).to.deep.equal([404, "heartbeat_not_found"])
    }
    const run = await host.api<Refused>("GET", `/v1/heartbeats/${heartbeat.id}/runs/${heartbeat.id}`)
    expect([run.status, run.body.details.reason]).to.deep.equal([404, "heartbeat_run_not_found"])
    expect((await host.api<{ total: number }>("GET", "/v1/heartbeats", undefined, { key })).body.total).to.equal(0)
  })
})
