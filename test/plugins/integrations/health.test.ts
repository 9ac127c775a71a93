// Tests of credentials by a real call, and a connection's health from them: by callers and by schedule, sent on the live channel.
// The vendor repeats the secret in every answer, but it must not appear anywhere.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { JobCollection } from "../../../core/jobs/jobs-collection.ts"
import { ScheduleCollection } from "../../../core/jobs/schedules.ts"
import { Integrations } from "../../../plugins/agents/integrations/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { failureOf } from "../../refusal.ts"
import { patiently, until } from "../../waiting.ts"
import { type Answer, startVendor, type Vendor } from "./vendor.ts"

interface Health {
  status: string
  reason: string
  message: string
  since: string | null
  checked_at: string | null
}
interface View {
  id: string
  slug: string
  name: string
  shared: boolean
  managed_access: string
  revision: number
  health: Health
}
interface Tested {
  ok: boolean
  reason: string
  message: string
  http_status: number | null
  retry_after_s: number | null
  health: Health
}
interface Refused {
  message: string
  details: { reason: string; fields: { path: string }[] }
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs

describe("tests and health of integrations", () => {
  let vendor: Vendor
  let count = 0
  const secrets: string[] = []
  before(async () => {
    vendor = await startVendor({}, {}, "1h")
    // A check starts at the beginning of a minute. With this clock none starts until a test moves it.
    vendor.host.clock.set(Math.floor(Date.now() / minuteMs) * minuteMs + 1_000)
  })
  after(() => vendor.close())
  beforeEach(() => {
    vendor.answer("good")
    vendor.peer.asked.length = 0
  })

  const api = async <T = Record<string, unknown>>(method: string, path: string, body?: unknown) => {
    const answer = await vendor.host.api<T>(method, path, body)
    secrets.push(JSON.stringify(answer.body))
    return answer
  }
  const connect = async (more: object = {}) => {
    const input = { app: "vendor", name: `Vendor ${++count}`, credentials: { api_key: "SECRET-KEY" }, share_with_org: true, ...more }
    return (await api<{ integration_id: string }>("POST", "/v1/integrations-connect", input)).body.integration_id
  }
  const read = async (id: string) => (await api<View>("GET", `/v1/integrations/${id}`)).body
  const test = async (id: string) => (await api<Tested>("POST", `/v1/integrations/${id}/test`)).body
  const news = async (id: string) =>
    (await vendor.host.broadcasts("connections"))
      .map(({ data }) => data as Record<string, unknown>)
      .filter(({ integration_id }) => integration_id === id)

  it("makes the app's test call with the credentials, once", async () => {
    const id = await connect()
    expect((await read(id)).health).to.include({ status: "unknown", since: null, checked_at: null })
    const tested = await test(id)
    expect(tested).to.include({ ok: true, reason: "", http_status: 200, retry_after_s: null })
    expect(vendor.peer.asked).to.have.length(1)
    expect(vendor.peer.asked[0]).to.include({ method: "GET", url: "/api/me" })
    expect(vendor.peer.asked[0]?.headers["authorization"]).to.equal("Bearer SECRET-KEY")
    const { health } = await read(id)
    expect(health).to.deep.equal(tested.health)
    expect(health).to.include({ status: "healthy", reason: "" })
    expect(health.since).to.equal(health.checked_at)
  })

  const failures: [Answer, string, number | null, RegExp, string][] = [
    ["unauthorized", "unauthorized", 401, /answered 401: it refuses the credentials/, "failing"],
    ["forbidden", "unauthorized", 403, /answered 403/, "failing"],
    ["refusing", "unauthorized", 200, /answered 200, but ok is not true/, "failing"],
    ["missing", "unexpected_answer", 404, /answered 404; expected 200/, "failing"],
    ["other", "unexpected_answer", 200, /without the field ok/, "failing"],
    ["malformed", "unexpected_answer", 200, /without the field ok/, "failing"],
    ["away", "call_refused", null, /another origin/, "failing"],
    ["limited", "rate_limited", 429, /not judged/, "healthy"],
    ["broken", "server_error", 500, /answered 500/, "healthy"],
    ["truncated", "unreachable", null, /failed/, "healthy"],
    ["gone", "unreachable", null, /failed/, "healthy"],
  ]
  for (const [how, reason, status, message, health] of failures) {
    it(`tells what a vendor means that answers "${how}"`, async () => {
      const id = await connect()
      await test(id)
      vendor.answer(how)
      const tested = await test(id)
      expect(tested).to.include({ ok: false, reason, http_status: status, retry_after_s: how === "limited" ? 7 : null })
      expect(tested.message).to.match(message)
      expect(tested.health.status).to.equal(health)
      expect((await read(id)).health).to.deep.equal(tested.health)
    })
  }

  it("counts what may pass by itself as failing from the second time on, and what passed as healthy", async () => {
    const id = await connect()
    vendor.answer("broken")
    expect((await test(id)).health).to.include({ status: "unknown", reason: "server_error" })
    expect(await news(id)).to.deep.equal([])
    const failing = (await test(id)).health
    expect(failing).to.include({ status: "failing", reason: "server_error" })
    vendor.answer("limited")
    expect((await test(id)).health).to.include({ status: "failing", since: failing.since })
    vendor.answer("good")
    vendor.host.clock.move(8_000)
    expect((await test(id)).health).to.include({ status: "healthy", reason: "" })
    await test(id)
    expect((await news(id)).map(({ status, reason }) => [status, reason])).to.deep.equal([
      ["failing", "server_error"],
      ["healthy", ""],
    ])
  })

  it("does not call a vendor before the time that it asked to wait for", async () => {
    const id = await connect({ name: "Waiting" })
    vendor.answer("limited")
    await test(id)
    vendor.answer("good")
    const requestCount = vendor.peer.asked.length
    const call = () => vendor.host.get(Integrations).call(vendor.host.organization.id, id, { method: "GET", path: "/me" })
    const { code, details } = await failureOf(call())
    expect([code, details?.["reason"], details?.["retry_after_s"]]).to.deep.equal(["unavailable", "app_asked_to_wait", 7])
    expect(await test(id)).to.include({ ok: false, reason: "rate_limited", retry_after_s: 7 })
    expect(vendor.peer.asked).to.have.length(requestCount)
    vendor.host.clock.move(7_000)
    expect((await call()).status).to.equal(200)
  })

  it("knows nothing of rotated credentials, and keeps id and slug", async () => {
    const id = await connect({ name: "Rotated" })
    vendor.answer("unauthorized")
    await test(id)
    const rotation = { app: "vendor", name: "rotated", credentials: { api_key: "SECRET-TWO" }, rotate_credentials: true }
    const rotated = await api<{ integration_id: string }>("POST", "/v1/integrations-connect", rotation)
    expect(rotated.body.integration_id).to.equal(id)
    expect(await read(id)).to.deep.include({ slug: "rotated" })
    expect((await read(id)).health).to.include({ status: "unknown", reason: "", since: null })
    vendor.answer("good")
    await test(id)
    expect(vendor.peer.asked.at(-1)?.headers["authorization"]).to.equal("Bearer SECRET-TWO")
  })

  it("checks by schedule, tells the live channel once, and ends with the connection", async () => {
    const { host } = vendor
    const id = await connect()
    const hidden = await connect({ share_with_org: false })
    vendor.answer("unauthorized")
    host.clock.move(hourMs)
    const observed = await until("a failing connection", async () => {
      const { health } = await read(id)
      return health.status === "failing" && health
    })
    await until("the private one's check", async () => (await read(hidden)).health.status === "failing")
    await until("the checks of the others", async () => {
      const type = "integrations.check_health"
      const isDue = { type, next_at: { $lte: new Date(host.clock.now()).toISOString() } }
      const [schedules, jobs] = [host.get(Store).open(ScheduleCollection), host.get(Store).open(JobCollection)]
      return (await schedules.count(isDue)) + (await jobs.count({ type })) === 0
    })
    expect(observed).to.include({ reason: "unauthorized" })
    const [message, ...more] = await until("the live message", async () => {
      const all = await news(id)
      return all.length > 0 && all
    })
    expect(message).to.deep.include({ status: "failing", reason: "unauthorized", since: observed.since })
    expect(more).to.deep.equal([])
    expect(await news(hidden)).to.deep.equal([])
    const scheduled = async () => {
      const schedules = await host.get(Store).open(ScheduleCollection).find({})
      return schedules.filter(({ payload }) => [id, hidden].includes((payload as { id?: string }).id ?? ""))
    }
    expect(await scheduled()).to.have.length(2)
    await api("DELETE", `/v1/integrations/${id}`)
    await api("DELETE", `/v1/integrations/${hidden}`)
    expect(await scheduled()).to.deep.equal([])
  })

  it("refuses to test what names no call, and an http connection tests the path that it is given", async () => {
    const http = (credentials: object) => connect({ app: "http", credentials })
    const base_url = `${vendor.peer.origin}/other`
    const refused = await api<Refused>("POST", `/v1/integrations/${await http({ base_url })}/test`)
    expect(refused.status).to.equal(400)
    expect(refused.body.details).to.include({ reason: "no_test_call" })
    expect(refused.body.message).to.include("test_path")
    expect(vendor.peer.asked).to.have.length(0)
    expect(await test(await http({ base_url, headers: { "x-key": "SECRET" }, test_path: "/ping" }))).to.include({ ok: true })
    expect(vendor.peer.asked[0]).to.include({ method: "GET", url: "/other/ping" })
  })

  it("warns of a failing connection where a pipeline that calls it is saved, and of no other", async () => {
    const id = await connect({ name: "Dependency" })
    await connect({ name: "Fine" })
    const call = (integration: string) => ({ type: "integration.call", integration, path: "/contacts" })
    const document = { name: "Depends", auth_mode: "none", pipeline: [call("fine"), call("dependency")] }
    type Saved = { slug: string; warnings: string[] }
    const saved = await api<Saved>("POST", "/v1/event-pipelines", document)
    const warned = ({ warnings }: Saved) => warnings.filter((text) => text.startsWith("The connection"))
    expect(warned(saved.body)).to.deep.equal([])
    vendor.answer("unauthorized")
    await test(id)
    const again = await api<Saved>("PUT", `/v1/event-pipelines/${saved.body.slug}`, { name: "Depends on it" })
    const [warning, ...more] = warned(again.body)
    expect(warning).to.match(/^The connection "dependency" has been failing since 2\d{3}-.* \(unauthorized\): .*answered 401/)
    expect(more).to.deep.equal([])
    const path = `/v1/event-pipelines/${saved.body.slug}`
    const response = await api<Saved>("GET", path)
    expect(response.body.warnings).to.deep.equal([warning])
    const documents = [{ path: "depends.yaml", document: { ...document, slug: "planned" } }]
    type Plan = { changes: { action: string; warnings: string[] }[] }
    expect((await api("POST", "/v1/event-pipelines/apply", { documents })).status).to.equal(200)
    const { changes } = (await api<Plan>("POST", "/v1/event-pipelines/plan", { documents })).body
    expect(changes.map(({ action, warnings }) => [action, warnings])).to.deep.equal([["unchanged", [warning]]])
    vendor.answer("good")
    await test(id)
    expect((await api<Saved>("GET", path)).body.warnings).to.deep.equal([])
    expect(
      (await api("PUT", path, { ...response.body, name: "As it was read", revision: undefined, updated_at: undefined })).status,
    ).to.equal(200)
    expect(warned((await api<Saved>("PUT", `/v1/event-pipelines/${saved.body.slug}`, { name: "Depends" })).body)).to.deep.equal([])
  })

  it("warns an organization of the connection that is lent to it, and no other", async () => {
    const { host } = vendor
    const id = await connect({ name: "Lent", managed_access: "managed_organizations" })
    const keyOf = (slug: string, managed: boolean) =>
      host.get(UnitsOfWork).run((work) => {
        const organization = host.get(Organizations).create(work, { name: slug, slug })
        if (managed) host.get(Organizations).setManager(work, organization.id, { id: host.organization.id, role: "member" })
        const keyOptions = { name: "k", kind: "api_key", role: "admin", scopes: null, user: null } as const
        return host.get(ApiKeys).mint(work, organization.id, keyOptions).text
      })
    const [shop, stranger] = [await keyOf("shop", true), await keyOf("stranger", false)]
    vendor.answer("unauthorized")
    await test(id)
    const document = { name: "Calls", auth_mode: "none", pipeline: [{ type: "integration.call", integration: "lent", path: "/x" }] }
    const warnings: string[][] = []
    for (const key of [shop, stranger]) {
      const response = await host.api<{ slug: string; warnings: string[] }>("POST", "/v1/event-pipelines", document, { key })
      const read = await host.api<{ warnings: string[] }>("GET", `/v1/event-pipelines/${response.body.slug}`, undefined, { key })
      expect(response.body.warnings).to.include.members(read.body.warnings)
      warnings.push(read.body.warnings)
    }
    expect(warnings).to.have.length(2)
    expect(warnings[0]?.[0]).to.match(/^The connection "lent" has been failing since .* \(unauthorized\)/)
    expect(warnings[1]).to.have.length(1)
    expect(warnings[1]?.[0]).to.match(/^missing-connection: The integration "lent" does not exist or is private/)
  })

  describe("update", () => {
    const patch = (id: string, body: object) => api<View & Refused>("PATCH", `/v1/integrations/${id}`, body)

    it("renames, shares and lends, and keeps slug, id and credentials", async () => {
      const id = await connect({ name: "First name", share_with_org: false })
      const changed = await patch(id, {
        name: "Second name",
        share_with_org: true,
        managed_access: "managed_organizations",
        expected_revision: 1,
      })
      expect(changed.body).to.include({
        id,
        slug: "first-name",
        name: "Second name",
        shared: true,
        managed_access: "managed_organizations",
        revision: 2,
      })
      expect(await read(id)).to.deep.equal(changed.body)
      expect((await test(id)).ok).to.equal(true)
      expect((await patch(id, { name: "Third", expected_revision: 1 })).status).to.equal(409)
      expect((await patch(id, { share_with_org: false })).body).to.include({ shared: false, name: "Second name" })
      expect((await patch(id, { api_key: "SECRET" })).status).to.equal(400)
    })

    it("does not lend for callers on MCP", async () => {
      const id = await connect()
      const call = {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "integrations_update", arguments: { id, name: "By MCP", managed_access: "managed_organizations" } },
      }
      const headers = { accept: "application/json, text/event-stream" }
      const answer = await vendor.host.api("POST", "/mcp", call, { headers })
      expect(answer.status).to.equal(200)
      expect(await read(id)).to.include({ name: "By MCP", managed_access: "none" })
    })
  })

  it("leaves the secret in no answer, log, live message, audit record or journal", async () => {
    const { host } = vendor
    const id = await connect({ name: "Journal CRM" })
    const document = {
      name: "Forward",
      state: "active",
      auth_mode: "none",
      pipeline: [{ type: "integration.call", integration: "journal-crm", path: "/contacts", method: "POST", body: { a: 1 } }],
    }
    const pipeline = await api<{ slug: string; inbound_url: string }>("POST", "/v1/event-pipelines", document)
    expect(pipeline.status, JSON.stringify(pipeline.body)).to.be.oneOf([200, 201])
    vendor.answer("unauthorized")
    const response = await patiently(() => host.send(pipeline.body, { email: "ada@example.com" }))
    expect(response.status, JSON.stringify(response.body)).to.be.lessThan(300)
    const path = `/v1/event-pipelines/${pipeline.body.slug}/executions`
    await until("the failed step", async () => {
      const [entry] = (await api<{ executions: { id: string }[] }>("GET", path)).body.executions
      const whole = entry && (await api<{ steps: object }>("GET", `${path}/${entry.id}`)).body
      return JSON.stringify(whole?.steps ?? {}).includes("answered 401")
    })
    await test(id)
    await api("GET", "/v1/audit-log")
    const everything = [...secrets, ...host.logged, JSON.stringify(await host.broadcasts())]
    expect(everything.filter((text) => text.includes("SECRET"))).to.deep.equal([])
    expect(everything.some((text) => text.includes("Journal CRM"))).to.equal(true)
  })
})
