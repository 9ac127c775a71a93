// Rows about erased people, and every way to write them again.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { onStoresInTurn } from "../../pipeline/stores.ts"
import { refusalOf } from "../../refusal.ts"
import { until } from "../../waiting.ts"

interface Rows {
  readonly rows: readonly { readonly values: Readonly<Record<string, unknown>> }[]
}
interface Plan {
  readonly id: string
  readonly state: string
  readonly replayed: { readonly accepted: number; readonly rejected: number; readonly failed: number; readonly skipped: number }
}

const write = { id: "save", type: "dataset.write", dataset_slug: "contacts" }

onStoresInTurn("rows about erased people", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start({ env: { MILLRACE_JOBS_POLL_MS: "20" } })
    const common = { state: "active", source_kind: "internal" }
    await host.invoke("event_pipelines.create", { ...common, name: "Contacts", pipeline: [write] })
    await host.invoke("event_pipelines.create", {
      ...common,
      name: "Keyed",
      pipeline: [{ ...write, dataset_slug: "keyed", key: "who", row: { who: "{{ event.email }}", tel: "{{ event.phone }}" } }],
    })
  })

  const send = async (slug: string, payload: object) =>
    (await host.invoke<{ execution_id: string }>("event_pipelines.send_event", { slug, payload })).execution_id
  const rowsWith = async (slug: string, text: string) =>
    (await host.invoke<Rows>("datasets.list_rows", { slug, limit: 200 })).rows.filter((row) => JSON.stringify(row.values).includes(text))
  const erase = async (slug: string, text: string, person: object) => {
    await until("the row being known", async () => (await rowsWith(slug, text)).length > 0)
    await host.invoke("consents.erase", { ...person, reason: "test", rows: "delete" })
    await until("the row being gone", async () => (await rowsWith(slug, text)).length === 0)
  }
  const replay = (slug: string, execution_id: string, more: object = {}) =>
    host.invoke<{ execution_id: string }>("event_pipelines.replay_execution", { slug, id: execution_id, ...more })
  /** Returns the error in the replay's entry. */
  const failureOf = async (slug: string, execution_id: string, more: object = {}) => {
    const { execution_id: id } = await replay(slug, execution_id, more)
    const got = await host.invoke<{ error: { message: string } | null }>("event_pipelines.get_execution", { slug, id })
    return got.error?.message ?? ""
  }

  it("stay away when the event is replayed", async () => {
    const id = await send("contacts", { email: "One@example.com", n: 1 })
    const other = await send("contacts", { email: "other@example.com", n: 2 })
    await erase("contacts", "One@example.com", { email: "one@EXAMPLE.com" })
    expect(await failureOf("contacts", id)).to.include("a person who was erased at")
    await replay("contacts", other)
    expect(await rowsWith("contacts", "One@")).to.be.empty
    expect(await rowsWith("contacts", "other@")).to.have.length(1)
  })

  it("stay away when a paused pipeline is forced, with the number in a column of another name", async () => {
    const id = await send("keyed", { email: "two@example.com", phone: "+49 1512 3456789" })
    await erase("keyed", "two@", { phone: "+4915123456789" })
    await host.invoke("event_pipelines.update", { slug: "keyed", state: "disabled" })
    expect(await failureOf("keyed", id, { force: true })).to.include("a person who was erased at")
    expect(await rowsWith("keyed", "two@")).to.be.empty
  })

  it("stay away when another pipeline sends them on, and when its step is retried", async () => {
    const common = { state: "active", source_kind: "internal" }
    const later = { ...write, dataset_slug: "sent-on" }
    await host.invoke("event_pipelines.create", { ...common, name: "Sent on", pipeline: [later] })
    await host.invoke("event_pipelines.update", { slug: "sent-on", state: "disabled" })
    const sends = { id: "on", type: "pipeline.send", pipeline: "sent-on", retry: { max_attempts: 1 } }
    await host.invoke("event_pipelines.create", { ...common, name: "Sends on", pipeline: [{ ...write, dataset_slug: "first" }, sends] })
    const id = await send("sends-on", { email: "four@example.com" })
    const steps = async () =>
      (
        await host.invoke<{ steps: Record<string, { state: string; error: { message: string } | null }> }>(
          "event_pipelines.get_execution",
          { slug: "sends-on", id },
        )
      ).steps["on"]
    await until("the step being dead", async () => (await steps())?.state === "failed")
    await erase("first", "four@", { email: "four@example.com" })
    await host.invoke("event_pipelines.update", { slug: "sent-on", state: "active" })
    await host.invoke("event_pipelines.retry_execution", { slug: "sends-on", id })
    await until("the other pipeline refusing it", async () => (await steps())?.error?.message.includes("failed it"))
    const { datasets } = await host.invoke<{ datasets: { slug: string }[] }>("datasets.list", {})
    const stored = datasets.some(({ slug }) => slug === "sent-on") ? await rowsWith("sent-on", "four@") : []
    expect(stored).to.be.empty
  })

  it("stay away in a replay plan, which replays the others", async () => {
    await send("contacts", { email: "three@example.com", n: 3 })
    await erase("contacts", "three@", { email: "three@example.com" })
    const { id } = await host.invoke<Plan>("replay_plans.create", { pipeline: "contacts" })
    const inState = (state: string) =>
      until(`the plan being ${state}`, async () => {
        const plan = await host.invoke<Plan>("replay_plans.get", { id })
        return plan.state === state && plan
      })
    await inState("rehearsed")
    await host.invoke("replay_plans.start", { id })
    const { replayed } = await inState("completed")
    expect(replayed.accepted).to.equal(1)
    expect(await rowsWith("contacts", "three@")).to.be.empty
  })

  it("are refused in an import, until the person gives consent again", async () => {
    const rows = [{ mail: "new@example.com" }, { anything: { mail: "three@example.com" } }]
    expect((await refusalOf(host.invoke("datasets.insert_rows", { slug: "contacts", rows }))).details.reason).to.equal("person_erased")
    expect(await rowsWith("contacts", "new@")).to.be.empty
    const consent = { email: "three@example.com", kind: "given", channel: "email", purpose: "service", source: "form", wording: "Yes." }
    await host.invoke("consents.record", { ...consent, after_erasure: true })
    await host.invoke("datasets.insert_rows", { slug: "contacts", rows })
    expect(await rowsWith("contacts", "three@")).to.have.length(1)
  })

  it("are written when the person sends a new event", async () => {
    await send("contacts", { email: "one@example.com", n: 5 })
    expect(await rowsWith("contacts", "one@")).to.have.length(1)
  })
})
