// Events from inside the service, pipelines that send to pipelines, and dry runs without traces.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { Bench, post } from "../bench.ts"
import { outsideWorld } from "../outside-world.ts"
import { onStoresInTurn } from "../stores.ts"

onStoresInTurn("events from inside", ({ start }) => {
  const world = outsideWorld()
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await start({ plugins: [world.plugin], env: { MILLRACE_JOBS_POLL_MS: "20" } })
    bench = new Bench(host)
  })
  const feed = (slug: string, payload: unknown, more: object = {}) =>
    host.api<{
      execution_id: string
      status: string
      response: { status: number; body: unknown }
      code: string
      details: { reason?: string }
    }>("POST", `/v1/event-pipelines/${slug}/events`, { payload, ...more })
  const internal = (name: string, pipeline: object[], more: object = {}) => bench.make({ name, source_kind: "internal", pipeline, ...more })

  it("have the same life: schema, transform, rows, reply, journal", async () => {
    await internal(
      "In",
      [
        { id: "save", type: "dataset.write", dataset_slug: "in", key: "id" },
        { type: "respond", status: 202, body: { got: "{{ event.id }}" } },
      ],
      {
        request_schema: { type: "object", required: ["id"] },
      },
    )
    const fed = await feed("in", { id: "a", _envelope: { variant: "V" } }, { is_test: true })
    expect([fed.status, fed.body.status, fed.body.response.status, fed.body.response.body]).to.deep.equal([
      200,
      "accepted",
      202,
      { got: "a" },
    ])
    expect((await bench.rows("in"))[0]?.values).to.include({ id: "a", is_test: true, variant: "V" })
    const entry = await bench.entry("in", fed.body.execution_id)
    expect(entry).to.include({ status: "accepted", is_test: true, depth: 0 })
    expect(entry.verdict).to.include({ ok: true, mode: "none" })
    const rejected = await feed("in", { no: 1 })
    expect([rejected.status, rejected.body.status, rejected.body.response.status]).to.deep.equal([200, "rejected", 400])
    expect(await bench.rows("in")).to.have.length(1)
  })

  it("are listed newest first, regardless of their ids, and by the time they were received", async () => {
    await internal("Passed", [])
    await internal("Passing", [{ id: "pass", type: "pipeline.send", pipeline: "passed" }])
    const requests: string[] = []
    for (let n = 0; n < 8; n++) {
      const { execution_id } = (await feed("passing", { n })).body
      const { steps } = await bench.entryWhen("passing", execution_id, (entry) => entry.steps["pass"]?.state === "done")
      requests.unshift(String((steps["pass"]?.result as { execution_id: string } | undefined)?.execution_id))
    }
    const entries = await bench.entries("passed")
    expect(entries.map(({ id }) => id)).to.deep.equal(requests)
    const at = encodeURIComponent(entries[3]?.received_at ?? "")
    expect(await bench.entries("passed", `?since=${at}`)).to.deep.equal(entries.filter((_, index) => index <= 3))
    expect(await bench.entries("passed", `?until=${at}&status=accepted`)).to.deep.equal(entries.filter((_, index) => index > 3))
  })

  it("are refused by a pipeline that is not active", async () => {
    await internal("Asleep", [], { state: "disabled" })
    const { status, body } = await feed("asleep", {})
    expect([status, body.code, body.details.reason]).to.deep.equal([400, "failed_precondition", "not_active"])
    expect(await bench.entries("asleep")).to.have.length(0)
  })

  it("are marked as tests by the header, as events from outside are", async () => {
    await internal("Marked", [{ type: "dataset.write", dataset_slug: "marked" }])
    for (const [marker, expected] of [
      ["1", true],
      ["TRUE", true],
      ["0", false],
      ["yes", false],
    ] as const) {
      const { body } = await host.api<{ execution_id: string }>(
        "POST",
        "/v1/event-pipelines/marked/events",
        { payload: { marker } },
        { headers: { "x-service-test": marker } },
      )
      const { execution_id } = body
      expect((await bench.entry("marked", execution_id)).is_test, marker).to.equal(expected)
    }
    const rows = (await bench.rows("marked")).map(({ values }) => [values["marker"], values["is_test"]])
    expect(Object.fromEntries(rows)).to.deep.equal({ "1": true, TRUE: true, "0": false, yes: false })
  })

  it("show a guest neither what came nor what errors quote of it", async () => {
    const minted = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Guest", role: "guest" })
    await internal("Quoting", [], { transform_js: "function transform(event) { throw new Error(event.who) }" })
    const { body } = await feed("quoting", { who: "secret-person@x.test" })
    const path = "/v1/event-pipelines/quoting/executions"
    for (const at of [path, `${path}/${body.execution_id}`]) {
      const response = await host.api("GET", at, undefined, { key: minted.body.secret })
      expect(response.status).to.equal(200)
      expect(JSON.stringify(response.body)).to.include("transform_threw").and.not.to.include("secret-person")
      expect(JSON.stringify((await host.api("GET", at)).body)).to.include("secret-person")
    }
  })

  it("are taken by a disabled pipeline where an admin insists, which the entry tells; never by a proposed one", async () => {
    const minted = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Member", role: "member" })
    const member = { key: minted.body.secret }
    const { inbound_url } = await bench.make({ name: "Stopped", pipeline: [{ type: "dataset.write", dataset_slug: "stopped" }] })
    const first = await post(inbound_url, { n: 1 })
    expect((await host.api("PUT", "/v1/event-pipelines/stopped", { state: "disabled" })).status).to.equal(200)
    const path = `/v1/event-pipelines/stopped/executions/${first.body.execution_id}/replay`
    type Answer = { execution_id: string; status: string; code: string; details: { reason: string } }
    for (const [url, body] of [
      [path, {}],
      ["/v1/event-pipelines/stopped/events", { payload: { n: 2 } }],
    ] as const) {
      const refused = await host.api<Answer>("POST", url, body)
      expect([refused.status, refused.body.details.reason], url).to.deep.equal([400, "not_active"])
      const denied = await host.api<Answer>("POST", url, { ...body, force: true }, member)
      expect([denied.status, denied.body.details.reason], url).to.deep.equal([403, "role_too_low"])
      // A replay writes the same row.
      expect(await bench.rows("stopped")).to.have.length(1)
      const forced = await host.api<Answer>("POST", url, { ...body, force: true })
      expect([forced.status, forced.body.status], url).to.deep.equal([200, "accepted"])
      expect(await bench.entry("stopped", forced.body.execution_id)).to.include({ status: "accepted", forced: true })
    }
    expect(await bench.entry("stopped", first.body.execution_id)).to.include({ forced: false })
    expect((await host.api("PUT", "/v1/event-pipelines/stopped", { state: "proposed" })).status).to.equal(200)
    const proposed = await host.api<Answer>("POST", path, { force: true })
    expect([proposed.status, proposed.body.details.reason]).to.deep.equal([400, "not_active"])
  })

  it("pass from pipeline to pipeline, five deep and no deeper, each once", async () => {
    await internal("Loop", [
      { id: "on", type: "pipeline.send", pipeline: "loop", retry: { max_attempts: 1 } },
      { id: "row", type: "dataset.write", dataset_slug: "loop", row: { n: 1 } },
    ])
    await feed("loop", { n: 1 }, { is_test: true })
    await until(async () => (await bench.entries("loop", "?status=failed")).length > 0)
    await until(async () => (await bench.jobs()).every(({ state }) => state === "dead"))
    const entries = await Promise.all((await bench.entries("loop")).map(({ id }) => bench.entry("loop", id)))
    expect(entries.map(({ depth }) => depth).sort()).to.deep.equal([0, 1, 2, 3, 4, 5])
    expect(entries.every(({ is_test }) => is_test)).to.equal(true)
    const deepest = entries.find(({ depth }) => depth === 5)
    expect(deepest?.error?.message).to.include("5 deep")
    expect(await bench.rows("loop")).to.have.length(6)
  })

  it("are tried dry without a trace: what would be written, sent, broadcast and answered", async () => {
    await bench.make({
      name: "Dry",
      state: "proposed",
      auth_mode: "hmac_sha256",
      request_schema: { type: "object", required: ["email"] },
      transform_js:
        "function transform(event) { return event.none ? null : { email: event.email.toLowerCase(), big: event.big === true } }",
      pipeline: [
        { id: "save", type: "dataset.write", dataset_slug: "dry", key: "email" },
        { id: "mail", type: "email.send", when: "event.big", to: "a@b.test", heading: "Hi {{ event.email }}" },
        { id: "act", type: "world.act", says: "{{ event.email }}" },
        { id: "say", type: "live.broadcast", channel: "dry", data: { e: "{{ event.email }}" } },
        { type: "respond", status: 201, body: { row: "{{ steps.save.row_id }}" } },
      ],
    })
    const before = await bench.books()
    const acts = world.acts.length
    const dry = (payload: unknown, headers = {}) => host.api<DryRun>("POST", "/v1/event-pipelines/dry/test", { payload, headers })
    const run = await dry({ email: "A@B.test", big: true, _envelope: { variant: "B" } }, { "X-Service-Test": "1" })
    expect(run.status, JSON.stringify(run.body)).to.equal(200)
    const { transformed, effects, schema_errors, steps } = run.body
    expect([transformed, schema_errors]).to.deep.equal([{ email: "a@b.test", big: true }, []])
    expect(effects.rows[0]?.values).to.include({ email: "a@b.test", variant: "B", is_test: true })
    expect(effects.sends.map(({ step }) => step)).to.deep.equal(["mail", "act"])
    expect(effects.broadcasts).to.have.length(1)
    expect(effects.response).to.deep.include({ status: 201, body: { row: effects.rows[0]?.row_id } })
    expect(steps.map(({ id, state }) => `${id} ${state}`)).to.include.members(["save done", "mail pending", "say done"])
    const small = await dry({ email: "a@b.test" })
    expect(small.body.effects.sends.map(({ step }) => step)).to.deep.equal(["act"])
    const invalid = await dry({})
    expect([invalid.status, invalid.body.schema_errors.length, invalid.body.effects.response]).to.deep.equal([200, 1, null])
    expect((await dry({ email: "x", none: true })).body.effects.rows).to.deep.equal([])
    const threw = await dry({ email: 5 })
    expect([threw.status, (threw.body as unknown as { code: string }).code]).to.deep.equal([400, "failed_precondition"])
    expect(await bench.books()).to.deep.equal(before)
    expect(world.acts.length).to.equal(acts)
    expect(await bench.entries("dry")).to.have.length(0)
  })
})

interface DryRun {
  transformed: unknown
  schema_errors: unknown[]
  steps: { id: string; state: string }[]
  effects: {
    rows: { row_id: string; values: Record<string, unknown> }[]
    sends: { step: string }[]
    broadcasts: unknown[]
    response: unknown
  }
}
