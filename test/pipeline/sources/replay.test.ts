// Replays, and awaited steps with intents. No step takes effect twice.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { ShiftedClock } from "../../shifted-clock.ts"
import { until } from "../../waiting.ts"
import { Bench, post } from "../bench.ts"
import { fails, outsideWorld } from "../outside-world.ts"
import { onStoresInTurn } from "../stores.ts"

onStoresInTurn("replay", ({ start }) => {
  const world = outsideWorld()
  const clock = new ShiftedClock()
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await start({ plugins: [world.plugin], clock, env: { MILLRACE_JOBS_POLL_MS: "20" } })
    bench = new Bench(host)
  })
  beforeEach(() => {
    world.acts.splice(0)
    world.answer = () => ({ done: true })
  })
  const replay = (slug: string, id: string, key?: string) =>
    host.api<{
      execution_id: string
      status: string
      replay_of: string
      response: { status: number; body: unknown }
      code?: string
      details?: { reason?: string }
    }>("POST", `/v1/event-pipelines/${slug}/executions/${id}/replay`, undefined, key ? { key } : {})

  it("writes the same rows at their first position: what came later stays", async () => {
    const { inbound_url } = await bench.make({
      name: "Replayed",
      pipeline: [
        { id: "person", type: "dataset.write", dataset_slug: "persons", key: "email" },
        { id: "visit", type: "dataset.write", dataset_slug: "visits", row: { email: "{{ event.email }}" } },
        { type: "live.broadcast", channel: "visits" },
        { id: "act", type: "world.act", says: "{{ event.name }}" },
      ],
    })
    const agent = {
      "user-agent":
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
    }
    const first = await post(
      inbound_url,
      { email: "a@b.test", name: "Old", _envelope: { page_url: "https://a.test/", variant: "B" } },
      agent,
    )
    await post(inbound_url, { email: "a@b.test", name: "New" })
    const before = { persons: await bench.rows("persons"), visits: await bench.rows("visits"), books: await bench.books() }
    const again = await replay("replayed", first.body.execution_id)
    expect([again.status, again.body.status, again.body.replay_of]).to.deep.equal([200, "accepted", first.body.execution_id])
    expect(again.body.execution_id).not.to.equal(first.body.execution_id)

    expect((await bench.rows("persons"))[0]?.values).to.include({ name: "New" })
    expect(await bench.rows("persons")).to.deep.equal(before.persons)
    expect(await bench.rows("visits")).to.deep.equal(before.visits)
    expect(await bench.books()).to.include({
      rows: before.books.rows,
      messages: before.books.messages,
      payloads: before.books.payloads,
      entries: before.books.entries + 1,
    })
    const [origin, entry] = [await bench.entry("replayed", first.body.execution_id), await bench.entry("replayed", again.body.execution_id)]
    expect(entry).to.deep.include({ replay_of: origin.id, repeat_of: null, rows: origin.rows })
    expect(entry.envelope).to.deep.equal(origin.envelope)
    await until(() => world.acts.length === 3)
    const keys = world.acts.filter(({ says }) => says === "Old").map(({ key }) => key)
    expect([keys.length, new Set(keys).size]).to.deep.equal([2, 1])

    const twice = await replay("replayed", again.body.execution_id)
    expect(twice.body.replay_of).to.equal(again.body.execution_id)
    expect((await bench.entry("replayed", twice.body.execution_id)).replay_of).to.equal(first.body.execution_id)
    // Otherwise it would count as an act of a later test.
    await until(() => world.acts.length === 4)
  })

  it("runs what failed or was rejected once the pipeline is mended", async () => {
    const { inbound_url } = await bench.make({
      name: "Mended",
      request_schema: { type: "object", required: ["email"] },
      transform_js: "function transform(event) { return { email: event.email.nothing.here } }",
      pipeline: [{ type: "dataset.write", dataset_slug: "mended", key: "email" }],
    })
    const failed = await post(inbound_url, { email: "a@b.test" })
    const rejected = await post(inbound_url, { mail: "c@d.test" })
    expect([failed.status, rejected.status]).to.deep.equal([400, 400])
    const change = { request_schema: null, transform_js: "function transform(event) { return { email: event.email || event.mail } }" }
    expect((await host.api("PUT", "/v1/event-pipelines/mended", change)).status).to.equal(200)
    for (const { id } of await bench.entries("mended")) expect((await replay("mended", id)).body.status).to.equal("accepted")
    expect((await bench.rows("mended")).map(({ values }) => values["email"]).sort()).to.deep.equal(["a@b.test", "c@d.test"])
  })

  it("refuses what was never verified, what is kept no longer, and what is not there", async () => {
    const { inbound_url } = await bench.make({
      name: "Guarded",
      auth_mode: "shared_secret_header",
      auth_config: { secret: "guard-SECRET-of-replay" },
    })
    await post(inbound_url, { n: 1 }, { "x-webhook-secret": "wrong" })
    const refused = await replay("guarded", (await bench.newest("guarded")).id)
    expect([refused.status, refused.body.details?.reason]).to.deep.equal([400, "not_verified"])
    const malformed = await post(inbound_url, "{", { "x-webhook-secret": "guard-SECRET-of-replay" })
    expect(malformed.status).to.equal(400)
    const response = await replay("guarded", (await bench.newest("guarded")).id)
    expect([response.status, response.body.details?.reason]).to.deep.equal([400, "payload_expired"])
    expect((await replay("guarded", "01900000-0000-7000-8000-000000000000")).status).to.equal(404)
    await bench.make({ name: "Other" })
    expect((await replay("other", (await bench.newest("guarded")).id)).status).to.equal(404)
    expect(await bench.entries("other")).to.have.length(0)
  })

  it("keeps what a replay needs, and shows none of its secrets", async () => {
    const { inbound_url } = await bench.make({
      name: "Secretive",
      transform_js: "function transform(event, { headers }) { return { long: event.password.length, keyed: 'x-api-key' in headers } }",
      pipeline: [{ type: "dataset.write", dataset_slug: "secretive", row: { long: "{{ event.long }}", keyed: "{{ event.keyed }}" } }],
    })
    const first = await post(inbound_url, { password: "p-SECRET", n: 1 }, { "x-api-key": "k-SECRET", "x-kind": "form" })
    expect(first.status).to.equal(200)
    const response = await host.api<{ body: string; headers: Record<string, string> }>(
      "GET",
      `/v1/event-pipelines/secretive/executions/${first.body.execution_id}/payload`,
    )
    expect(JSON.stringify(response.body)).not.to.include("SECRET")
    expect(JSON.parse(response.body.body)).to.deep.equal({ password: "[redacted]", n: 1 })
    expect(response.body.headers).to.include({ "x-kind": "form" })
    const again = await replay("secretive", first.body.execution_id)
    expect(again.body.status).to.equal("accepted")
    for (const { values } of await bench.rows("secretive")) expect(values).to.include({ long: 8 })
    for (const { id } of await bench.entries("secretive"))
      expect(JSON.stringify(await bench.entry("secretive", id))).not.to.include("SECRET")
  })

  it("keeps payloads for their days only", async () => {
    const { inbound_url } = await bench.make({ name: "Aged", pipeline: [] })
    const { body } = await post(inbound_url, { n: 1 })
    expect((await replay("aged", body.execution_id)).status).to.equal(200)
    expect((await bench.entry("aged", body.execution_id)).payload_preview).to.equal('{"n":1}')
    // Time never goes back: expired documents may have been removed.
    clock.step(8 * 86_400_000)
    const late = await replay("aged", body.execution_id)
    const entry = await bench.entry("aged", body.execution_id)
    const entries = await bench.entries("aged")
    expect([late.status, late.body.details?.reason]).to.deep.equal([400, "payload_expired"])
    expect(entry).to.deep.include({ status: "accepted", payload_preview: "", transformed: null })
    expect(entries.map(({ payload_preview }) => payload_preview)).to.deep.equal(["", ""])
  })

  it("does not act twice for an awaited step: the outcome of the first is found", async () => {
    world.answer = ({ says }) => ({ said: says, n: world.acts.length })
    const { inbound_url } = await bench.make({
      name: "Awaited",
      pipeline: [
        { id: "act", type: "world.act", await: true, says: "{{ event.n }}" },
        { type: "respond", status: 202, body: { n: "{{ steps.act.n }}" } },
      ],
    })
    const first = await post(inbound_url, { n: 5 })
    expect([first.status, first.body]).to.deep.equal([202, { n: 1 }])
    const again = await replay("awaited", (await bench.newest("awaited")).id)
    expect(again.body.response).to.deep.include({ status: 202, body: { n: 1 } })
    expect(world.acts).to.have.length(1)
    expect((await bench.entry("awaited", again.body.execution_id)).steps["act"]).to.include({ state: "done", attempts: 0 })
  })

  it("gives a sender's retry the same key where only the intent is known, and the outcome where that is", async () => {
    let broken = true
    world.answer = () => (broken ? fails("cut off after acting", false) : { done: true })
    const { inbound_url } = await bench.make({
      name: "Intent",
      dedupe: { key: "{{ payload.id }}" },
      pipeline: [
        { id: "act", type: "world.act", await: true, says: 1, retry: { max_attempts: 1 } },
        { id: "say", type: "live.broadcast", channel: "{{ event.channel }}" },
      ],
    })
    const cut = await post(inbound_url, { id: "e1", channel: "!!" })
    expect([cut.status, (await bench.books()).intents]).to.deep.equal([500, 2])
    broken = false
    const failed = await post(inbound_url, { id: "e1", channel: "!!" })
    expect(failed.status).to.equal(400)
    expect(world.acts.map(({ key }) => key)).to.deep.equal([world.acts[0]?.key, world.acts[0]?.key])
    const accepted = await post(inbound_url, { id: "e1", channel: "fine" })
    expect(accepted.status).to.equal(200)
    expect(world.acts).to.have.length(2)
    expect((await post(inbound_url, { id: "e1", channel: "fine" })).text).to.equal(accepted.text)
  })

  it("tries an awaited step again before the reply, side by side with others", async () => {
    let arrived = 0
    let both: () => void = () => {}
    const meet = new Promise<void>((resolve) => {
      both = resolve
    })
    world.answer = async ({ step, attempt }) => {
      if (step === "left" && attempt === 1) fails("once")
      if (++arrived === 2) both()
      await meet
      return {}
    }
    const retry = { max_attempts: 2, initial_delay_ms: 1 }
    const { inbound_url } = await bench.make({
      name: "Beside",
      pipeline: [
        { id: "left", type: "world.act", await: true, needs: [], says: 1, retry },
        { id: "right", type: "world.act", await: true, needs: [], says: 2, retry },
      ],
    })
    expect((await post(inbound_url, {})).status).to.equal(200)
    const entry = await bench.newest("beside")
    expect([entry.steps["left"]?.attempts, entry.steps["right"]?.attempts]).to.deep.equal([2, 1])
  })
})
