// Rows missed by the leads' hand-over are read from the journal, including changes of keyed rows.
import { expect } from "chai"
import { Store } from "#core"
import { type TestHost, testHost } from "#core/testing"
import type { Commit } from "../../../core/contract/store.ts"
import { RowBuffer } from "../../../plugins/people/leads/index.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { runJob } from "../run-job.ts"

describe("rows that were not handed to the leads", () => {
  let host: TestHost
  let carts: { inbound_url: string }
  before(async () => {
    host = await testHost()
    const response = await host.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: "Carts",
      state: "active",
      auth_mode: "none",
      pipeline: [{ type: "dataset.write", dataset_slug: "carts", key: "cart" }],
    })
    carts = response.body
  })
  after(() => host.stop())

  const send = async (event: object) => expect((await host.send(carts, event)).status).to.equal(200)
  const leadsOf = async (email: string) =>
    (await host.api<{ leads: object[] }>("GET", `/v1/leads?email=${encodeURIComponent(email)}`)).body.leads.length
  /** Returns true for commits of the leads' hand-over. */
  const isHandover = ({ writes }: Commit) => writes.some(({ collection }) => collection.name === "lead_handovers")
  const handoverCollection = () => collectionNamed<{ through: string; beat_at: string }>(host, "lead_handovers")
  const handovers = () => host.get(Store).open(handoverCollection()).find({})

  it("become leads within a minute of a hand-over that failed", async () => {
    await send({ cart: "a" })
    const store = host.get(Store)
    const own = store.commit
    let failed = 0
    store.commit = async (commit) => {
      if (!isHandover(commit)) return await own.call(store, commit)
      failed++
      throw new Error("the disk is full")
    }
    await send({ cart: "a", email: "ada@example.com" })
    await send({ cart: "b", email: "bob@example.com" })
    host.clock.move(250)
    await until("the failure", () => failed > 0 && host.logged.some((line) => line.includes("they are read from the journal")))
    store.commit = own
    expect([await leadsOf("ada@example.com"), await leadsOf("bob@example.com")]).to.deep.equal([0, 0])
    host.clock.move(60_000)
    for (const email of ["ada@example.com", "bob@example.com"]) await until(email, async () => (await leadsOf(email)) === 1)
    expect((await handovers()).map(({ id }) => id)).to.deep.equal([host.get(RowBuffer).process])
  })

  it("become leads by the catch-up after another process ended with them, which is then forgotten", async () => {
    const store = host.get(Store)
    const [mine] = await handovers()
    const other = { id: "another process", through: mine?.through ?? "", beat_at: mine?.beat_at ?? "" }
    await store.commit({ id: "other", writes: [{ kind: "insert", collection: handoverCollection(), doc: other }] })
    const rows = host.get(RowBuffer)
    const add = rows.add
    // Simulates events received by the other process.
    rows.add = () => undefined
    await send({ cart: "b", email: "second@example.com" })
    await send({ cart: "c", email: "third@example.com" })
    rows.add = add
    const catchUp = () => runJob(host, "leads.catch_up")
    await catchUp()
    expect([await leadsOf("second@example.com"), await leadsOf("third@example.com")]).to.deep.equal([1, 1])
    expect(await handovers()).to.have.length(2)
    host.clock.move(200_000)
    await catchUp()
    expect((await handovers()).map(({ id }) => id)).to.deep.equal([rows.process])
  })

  it("are no more than memory is for: further rows are read from the journal", async () => {
    const rows = host.get(RowBuffer)
    const origin = { executionId: "00000000-0000-7000-8000-000000000000", stepId: "s", itemIndex: 0, receivedAt: "", pipeline: "carts" }
    const receivedAt = new Date(host.clock.now()).toISOString()
    const many = { organization: host.organization.id, dataset: "carts", values: { email: "x@example.com" }, work: undefined as never }
    const { flush } = rows
    // Without flushes, since on a busy machine a flush could come before the last row.
    rows.flush = () => Promise.resolve()
    for (let n = 0; n < 20_000; n++) rows.add({ ...many, row_id: `none-${n}`, origin: { ...origin, receivedAt } })
    await send({ cart: "d", email: "late@example.com" })
    expect(host.logged.filter((line) => line.includes("more rows wait for the leads"))).to.have.length(1)
    rows.flush = flush
    host.clock.move(60_000)
    await until("the lead", async () => (await leadsOf("late@example.com")) === 1)
  })

  it("of a caller are in a job of their own commit", async () => {
    const store = host.get(Store)
    const own = store.commit
    const commits: Commit[] = []
    store.commit = (commit) => {
      commits.push(commit)
      return own.call(store, commit)
    }
    await host.api("POST", "/v1/datasets/carts/rows", { key: "cart", rows: [{ cart: "e", email: "e@example.com" }, { cart: "f" }] })
    store.commit = own
    const stored = commits.find(({ writes }) => writes.some(({ collection }) => collection.name === "dataset_rows"))
    expect(stored?.writes.filter(({ collection }) => collection.name === "jobs")).to.have.length(1)
    await until("the lead", async () => (await leadsOf("e@example.com")) === 1)
  })
})
