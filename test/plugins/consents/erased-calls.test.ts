// Calls to other systems about erased people: replays and late steps make no calls.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { onStoresInTurn } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"
import { listen, type Peer } from "../outgoing-http/loopback-peer.ts"

interface Execution {
  readonly steps: Readonly<Record<string, { readonly state: string; readonly error: { readonly message: string } | null }>>
}

onStoresInTurn("calls about erased people", ({ start }) => {
  let host: TestHost
  let peer: Peer
  let isBusy = false
  before(async () => {
    peer = await listen((_asked, response) => response.writeHead(isBusy ? 503 : 200).end("ok"))
    host = await start({ env: { MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${peer.port}`, MILLRACE_JOBS_POLL_MS: "20" } })
    const credentials = { base_url: peer.origin, headers: { "X-Api-Key": "sixteen-characters" } }
    await host.invoke("integrations.connect", { app: "http", name: "CRM", share_with_org: true, credentials })
  })
  after(() => peer.close())
  beforeEach(() => {
    peer.asked.length = 0
    isBusy = false
  })

  const make = (name: string, step: object) =>
    host.invoke("event_pipelines.create", { state: "active", source_kind: "internal", name, pipeline: [{ id: "call", ...step }] })
  const send = async (slug: string, payload: object) =>
    (await host.invoke<{ execution_id: string }>("event_pipelines.send_event", { slug, payload })).execution_id
  const replay = async (slug: string, id: string) =>
    (await host.invoke<{ execution_id: string }>("event_pipelines.replay_execution", { slug, id })).execution_id
  const whenSettled = (slug: string, id: string) =>
    until("the step being settled", async () => {
      const step = (await host.invoke<Execution>("event_pipelines.get_execution", { slug, id })).steps["call"]
      return step && ["failed", "done"].includes(step.state) ? step : undefined
    })
  const erase = (person: object) => host.invoke("consents.erase", { ...person, reason: "asked" })
  const request = { type: "http.request", method: "POST" }

  it("are not made again by a replay, and those about others are", async () => {
    await make("Calls", { ...request, url: `${peer.origin}/leads`, body: { email: "{{ event.email }}" } })
    const id = await send("calls", { email: "Ada@example.com" })
    const other = await send("calls", { email: "grace@example.com" })
    for (const value of [id, other]) expect((await whenSettled("calls", value)).state).to.equal("done")
    await erase({ email: "ada@example.com" })
    peer.asked.length = 0
    const refused = await whenSettled("calls", await replay("calls", id))
    expect([refused.state, refused.error?.message]).to.satisfy(
      ([state, message]: string[]) => state === "failed" && message?.includes("a person who was erased at"),
    )
    expect((await whenSettled("calls", await replay("calls", other))).state).to.equal("done")
    expect(peer.asked.map(({ body }) => body)).to.deep.equal(['{"email":"grace@example.com"}'])
  })

  it("are not made through an integration, either", async () => {
    await make("CRM", { type: "integration.call", integration: "crm", path: "/people", query: { mail: "{{ event.email }}" } })
    const id = await send("crm", { email: "alan@example.com" })
    expect((await whenSettled("crm", id)).state).to.equal("done")
    await erase({ email: "alan@example.com" })
    peer.asked.length = 0
    expect((await whenSettled("crm", await replay("crm", id))).state).to.equal("failed")
    expect(peer.asked).to.deep.equal([])
  })

  it("are not made if the number is in the event alone", async () => {
    await make("Counts", { ...request, url: `${peer.origin}/count`, body: { n: 1 } })
    const id = await send("counts", { contact: { phone: "+49 1512 3456789" } })
    expect((await whenSettled("counts", id)).state).to.equal("done")
    await erase({ phone: "+4915123456789" })
    expect((await whenSettled("counts", await replay("counts", id))).state).to.equal("failed")
    expect(peer.asked).to.have.length(1)
  })

  it("are not made by a retried step after the erasure", async () => {
    await make("Retries", { ...request, url: `${peer.origin}/busy`, body: { email: "{{ event.email }}" }, retry: { max_attempts: 1 } })
    isBusy = true
    const id = await send("retries", { email: "late@example.com" })
    expect((await whenSettled("retries", id)).state).to.equal("failed")
    await erase({ email: "late@example.com" })
    isBusy = false
    peer.asked.length = 0
    await host.invoke("event_pipelines.retry_execution", { slug: "retries", id })
    await until("the refusal", async () => (await whenSettled("retries", id)).error?.message.includes("a person who was erased at"))
    expect(peer.asked).to.deep.equal([])
  })

  it("are made for an event that the person sends after the erasure", async () => {
    const id = await send("calls", { email: "ada@example.com" })
    expect((await whenSettled("calls", id)).state).to.equal("done")
    expect(peer.asked).to.have.length(1)
  })
})
