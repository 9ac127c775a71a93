// Dead letters: stored, listed, read and retried, only within their own organization.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys } from "../../../plugins/platform/organizations/index.ts"
import { Bench, post } from "../../pipeline/bench.ts"
import { fails, outsideWorld } from "../../pipeline/outside-world.ts"
import { until } from "../../waiting.ts"

interface Job {
  id: string
  type: string
  state: string
  attempts: number
  max_attempts: number
  last_error: string | null
  execution_id: string | null
  payload?: { event: unknown }
}
interface Refusal {
  code: string
  details: { reason?: string }
}

describe("jobs", () => {
  const world = outsideWorld()
  let host: TestHost
  let bench: Bench
  let url: string
  before(async () => {
    host = await testHost({ plugins: [world.plugin], env: { MILLRACE_JOBS_POLL_MS: "20", MILLRACE_SERVER_DRAIN_MS: "50" } })
    bench = new Bench(host)
    const act = { id: "act", type: "world.act", says: "{{ event.n }}", retry: { max_attempts: 2, initial_delay_ms: 1 } }
    url = (await bench.make({ name: "Told", pipeline: [act] })).inbound_url
  })
  after(() => host.stop())

  const list = async (query = "") => (await host.api<{ jobs: Job[]; next_cursor: string }>("GET", `/v1/jobs${query}`)).body
  const retry = (id: string) => host.api<{ id: string; steps: string[] } & Refusal>("POST", `/v1/jobs/${id}/retry`)

  it("that failed permanently are listed newest first, page by page, and read with what they were given", async () => {
    world.answer = () => fails("the peer is down")
    for (const n of [1, 2, 3]) {
      expect((await post(url, { n })).status).to.equal(200)
      await until(async () => (await list()).jobs.length === n)
    }
    const { jobs } = await list()
    expect(jobs.map(({ type, state }) => [type, state])).to.deep.equal(jobs.map(() => ["pipeline.deferred", "dead"]))
    expect(jobs[0]?.last_error).to.include("the peer is down")
    expect(jobs[0]).not.to.have.property("payload")
    const first = await list("?limit=2")
    const second = await list(`?limit=2&cursor=${encodeURIComponent(first.next_cursor)}`)
    expect([...first.jobs, ...second.jobs].map(({ id }) => id)).to.deep.equal(jobs.map(({ id }) => id))
    expect(second.next_cursor).to.equal("")
    const { body } = await host.api<Job>("GET", `/v1/jobs/${jobs[0]?.id}`)
    expect(body.payload?.event).to.deep.equal({ n: 3 })
    expect(body.execution_id).to.equal((await bench.newest("told")).id)
    expect((await list("?state=queued")).jobs).to.deep.equal([])
    expect((await list("?type=other")).jobs).to.deep.equal([])
    // A scrape omits slow counts. A job is counted after it was stored. Jobs of schedules come and go.
    const counts = [/millrace_job_seconds_count\{type="pipeline\.deferred",outcome="dead"\} 3\n/, /^millrace_jobs\{state="dead"\} 3$/m]
    await until("the metrics", async () => {
      const metrics = await (await fetch(`${host.url}/metrics`)).text()
      return [...counts, /^millrace_jobs\{state="queued"\} 0$/m].every((pattern) => pattern.test(metrics))
    })
  })

  it("are retried by hand: done and gone, the entry mended, the step's key as before", async () => {
    const [job] = (await list()).jobs
    const keys = () => world.acts.filter(({ says }) => says === 3).map(({ key }) => key)
    const before = keys().length
    world.answer = () => ({})
    const { status, body } = await retry(job?.id ?? "")
    expect([status, body]).to.deep.equal([200, { id: job?.id, steps: ["act"] }])
    await until(async () => (await host.api("GET", `/v1/jobs/${job?.id}`)).status === 404)
    expect(await bench.entry("told", job?.execution_id ?? "")).to.include({ status: "accepted", cause: "" })
    expect(keys()).to.have.length(before + 1)
    expect(new Set(keys()).size).to.equal(1)
    expect((await list()).jobs).to.have.length(2)
    const again = await retry(job?.id ?? "")
    expect([again.status, again.body.code]).to.deep.equal([404, "not_found"])
  })

  it("that still wait are not retried, and keep their place", async () => {
    world.answer = () => new Promise(() => {})
    await post(url, { n: 9 })
    const [job] = (await list("?state=queued")).jobs
    const { status, body } = await retry(job?.id ?? "")
    expect([status, body.code, body.details.reason]).to.deep.equal([400, "failed_precondition", "not_dead"])
    expect((await list("?state=queued")).jobs.map(({ id }) => id)).to.deep.equal([job?.id])
  })

  it("of a guest are without payload, and no guest has one retried", async () => {
    const key = await host
      .get(UnitsOfWork)
      .run((work) =>
        host.get(ApiKeys).mint(work, host.organization.id, { name: "t", kind: "api_key", role: "guest", scopes: null, user: null }),
      )
    const [job] = (await list()).jobs
    expect((await host.api("GET", "/v1/jobs", undefined, { key: key.text })).status).to.equal(200)
    expect((await host.api("GET", `/v1/jobs/${job?.id}`, undefined, { key: key.text })).status).to.equal(403)
    expect((await host.api("POST", `/v1/jobs/${job?.id}/retry`, undefined, { key: key.text })).status).to.equal(403)
    expect((await list()).jobs.map(({ id }) => id)).to.include(job?.id)
  })

  it("of another organization are not there", async () => {
    const { JobQueue, defineJob } = await import("#core")
    const { z } = await import("zod")
    const other = defineJob({ type: "pipeline.deferred", summary: "", payload: z.object({}), run: () => Promise.resolve() })
    const organization = "018f0000-0000-7000-8000-000000000001"
    const id = await host
      .get(UnitsOfWork)
      .run((work) => host.get(JobQueue).enqueue(work, other, {}, { organization, runAt: Date.now() + 3_600_000 }))
    expect((await list("?state=queued")).jobs.map((job) => job.id)).not.to.include(id)
    expect((await host.api("GET", `/v1/jobs/${id}`)).status).to.equal(404)
    expect((await retry(id)).status).to.equal(404)
  })

  it("are retried all at once by what they have in common, and show the tries of their step meanwhile", async () => {
    world.answer = () => fails("the peer is down")
    const slow = {
      id: "act",
      type: "world.act",
      says: "slow",
      retry: { max_attempts: 5, initial_delay_ms: 3_600_000, max_delay_ms: 3_600_000 },
    }
    const waiting = await bench.make({ name: "Waiting", pipeline: [slow] })
    expect((await post(waiting.inbound_url, { n: 0 })).status).to.equal(200)
    await until(async () => (await list("?state=queued")).jobs[0]?.attempts === 1)
    const [tried] = (await list("?state=queued")).jobs
    expect([tried?.attempts, tried?.max_attempts]).to.deep.equal([1, 5])
    expect(tried?.last_error).to.include("the peer is down")

    const act = { id: "act", type: "world.act", says: "other", retry: { max_attempts: 2, initial_delay_ms: 1 } }
    const other = await bench.make({ name: "Other", pipeline: [act] })
    const dead = async () => (await list("?limit=200")).jobs
    const before = (await dead()).length
    for (const n of [1, 2, 3]) expect((await post(other.inbound_url, { n })).status).to.equal(200)
    await until(async () => (await dead()).length === before + 3)
    expect((await dead())[0]).to.include({ attempts: 2, max_attempts: 2 })
    world.answer = () => ({})
    const all = (input: object) => host.api<{ retried: number; more: boolean } & Refusal>("POST", "/v1/jobs/retry", input)
    expect((await all({ pipeline: "nothing" })).status).to.equal(404)
    expect((await all({ pipeline: "other", until: "2020-01-01T00:00:00.000Z" })).body.retried).to.equal(0)
    expect((await all({ pipeline: "other", type: "something.else" })).body.retried).to.equal(0)
    expect((await all({ pipeline: "other", limit: 2 })).body).to.deep.equal({ retried: 2, skipped: [], more: true })
    expect((await all({ pipeline: "other" })).body).to.deep.equal({ retried: 1, skipped: [], more: false })
    await until(async () => (await dead()).length === before)
  })
})
