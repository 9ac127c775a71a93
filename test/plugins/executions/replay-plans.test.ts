// Replay plans: the effects of a changed pipeline on past events, and then its replays, each once, with pauses.
import { expect } from "chai"
import { Store } from "#core"
import { EntryCollection } from "#core/engine"
import type { TestHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"
import { refusalOf } from "../../refusal.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { runJob } from "../run-job.ts"

interface Plan {
  readonly id: string
  readonly state: string
  readonly count: number
  readonly rehearsed: number
  readonly replayed: { readonly accepted: number; readonly rejected: number; readonly failed: number; readonly skipped: number }
  readonly groups: readonly { readonly outcome: string; readonly detail: string; readonly count: number; readonly samples: string[] }[]
}

const save = {
  id: "save",
  type: "dataset.write",
  dataset_slug: "people",
  key: "email",
  row: { email: "{{ event.email }}", n: "{{ event.n }}" },
}

onBothStores("replay plans", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start()
    const transform_js = "function transform(event) { return { email: event.email, n: event.n } }"
    const input = { name: "People", state: "active", source_kind: "internal", transform_js, pipeline: [save] }
    await host.invoke("event_pipelines.create", input)
    await host.invoke("event_pipelines.create", { name: "Empty", state: "active", source_kind: "internal", pipeline: [] })
    for (let n = 0; n < 45; n++) {
      await host.invoke("event_pipelines.send_event", { slug: "people", payload: { email: `A${n % 40}@example.com`, n } })
    }
    const changed =
      "function transform(event) { if (event.n === 7) throw new Error('seven'); return { email: event.n % 3 === 0 ? event.email.toLowerCase() : event.email, n: event.n } }"
    await host.invoke("event_pipelines.update", { slug: "people", transform_js: changed })
  })
  const get = (id: string) => host.invoke<Plan>("replay_plans.get", { id })
  const inState = (id: string, state: string) =>
    until(`the plan being ${state}`, async () => {
      const plan = await get(id)
      return plan.state === state && plan
    })
  const entries = () => host.get(Store).open(EntryCollection, host.organization.id)
  const replays = () => entries().find({ replay_of: { $ne: null } }, { limit: 1_000 })

  it("say what would be other than it was, and do nothing", async () => {
    const { id, count } = await host.invoke<Plan>("replay_plans.create", { pipeline: "people" })
    expect(count).to.equal(45)
    const { groups, rehearsed } = await inState(id, "rehearsed")
    expect(rehearsed).to.equal(45)
    const resources = groups.map(({ outcome, detail, count: of }) => `${of} ${outcome} ${detail.split(":")[0]}`)
    expect(resources).to.deep.equal(["29 same ", "15 differs email", "1 fails transform"])
    expect(groups[1]?.samples).to.have.length(5)
    expect(await replays()).to.be.empty
    const page = await host.invoke<{ events: { outcome: string; replay_id: null }[] }>("replay_plans.list_events", {
      id,
      outcome: "differs",
    })
    expect(page.events).to.have.length(15)
    expect(page.events.every(({ replay_id }) => replay_id === null)).to.equal(true)
  })

  it("are paused, resumed, killed between a replay and its commit, and replay each event once", async () => {
    const { id } = await host.invoke<Plan>("replay_plans.create", { pipeline: "people" })
    await host.invoke("replay_plans.pause", { id })
    expect((await refusalOf(host.invoke("replay_plans.pause", { id }))).details.reason).to.equal("transition_impossible")
    await host.invoke("replay_plans.resume", { id })
    await inState(id, "rehearsed")
    const rowsBefore = await host.invoke<{ rows: unknown[] }>("datasets.list_rows", { slug: "people", limit: 200 })
    await host.invoke("replay_plans.start", { id })
    await inState(id, "completed")
    const first = await replays()
    expect(first).to.have.length(45)
    // The state after a node died before the plan's own commit.
    const collection = collectionNamed<{ replayed: unknown }>(host, "replay_plans")
    const plans = host.get(Store).open(collection, host.organization.id)
    const stored = await plans.get(id)
    const $set = { state: "replaying", position: [], replayed: { accepted: 0, rejected: 0, failed: 0, skipped: 0 } }
    const write = { kind: "update", collection, organization: host.organization.id, id, update: { $set } } as const
    await host.get(Store).commit({ id: "rewound", writes: [write] })
    await runJob(host, "events.replay_plan", { plan: id }, host.organization.id)
    expect((await replays()).map((replay) => replay.id).sort()).to.deep.equal(first.map((replay) => replay.id).sort())
    const plan = await inState(id, "completed")
    expect(plan.replayed).to.deep.equal(stored?.replayed)
    expect(plan.replayed.failed).to.equal(1)
    const rows = await host.invoke<{ rows: unknown[] }>("datasets.list_rows", { slug: "people", limit: 200 })
    // Rows of addresses with a new spelling.
    expect(rows.rows.length).to.be.greaterThan(rowsBefore.rows.length)
    const { events } = await host.invoke<{ events: { execution_id: string; replay_id: string }[] }>("replay_plans.list_events", {
      id,
      limit: 200,
    })
    for (const { execution_id, replay_id } of events) expect((await entries().get(replay_id))?.replay_of).to.equal(execution_id)
  })

  it("keep the digits of long integers, and show them to the schema as numbers", async () => {
    const request_schema = { type: "object", properties: { n: { type: "integer" } } }
    await host.invoke("event_pipelines.create", { name: "Long", state: "active", auth_mode: "none", request_schema, pipeline: [] })
    const { inbound_url } = await host.invoke<{ inbound_url: string }>("event_pipelines.get", { slug: "long" })
    for (const digits of ["9007199254740993", "-12345678901234567891", "7"]) {
      const headers = { "content-type": "application/json" }
      const answer = await fetch(inbound_url, { method: "POST", body: `{"list":[{"id":${digits}}],"n":${digits}}`, headers })
      expect(answer.status, await answer.text()).to.equal(200)
    }
    const { id } = await host.invoke<Plan>("replay_plans.create", { pipeline: "long" })
    const { groups } = await inState(id, "rehearsed")
    expect(groups.map(({ outcome, detail, count }) => [outcome, detail, count])).to.deep.equal([["same", "", 3]])
  })

  it("are stopped, and refuse what there is not", async () => {
    const { id } = await host.invoke<Plan>("replay_plans.create", { pipeline: "people", is_test: false })
    await host.invoke("replay_plans.stop", { id })
    expect((await refusalOf(host.invoke("replay_plans.start", { id }))).details.reason).to.equal("transition_impossible")
    expect((await refusalOf(host.invoke("replay_plans.create", { pipeline: "empty" }))).details.reason).to.equal("replay_plan_size")
    const unknown = "00000000-0000-4000-8000-000000000000"
    expect((await refusalOf(host.invoke("replay_plans.get", { id: unknown }))).details.reason).to.equal("replay_plan_not_found")
  })
})
