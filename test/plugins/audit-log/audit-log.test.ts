// Reads the audit log: the actor of each change and the values before and after, without secrets.

import { expect } from "chai"
import { UnitsOfWork } from "#core"
import type { Role } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys } from "../../../plugins/platform/organizations/index.ts"
import { until } from "../../waiting.ts"

interface Entry {
  id: string
  at: string
  actor: { credential_id: string; user_id: string | null; surface: string }
  operation: string
  target: Record<string, unknown>
  changes: Record<string, unknown>
  writes: { collection: string; id: string; before: Record<string, unknown> | null; after: Record<string, unknown> | null }[]
  more_writes: number
  request_id: string
}
interface Page {
  audit_log: Entry[]
  next_cursor: string
}

describe("the audit log", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  const list = async (query = "", key = host.adminKey) => (await host.api<Page>("GET", `/v1/audit-log${query}`, undefined, { key })).body
  const mint = (role: Role, scopes?: string[]) =>
    host
      .get(UnitsOfWork)
      .run((work) =>
        host
          .get(ApiKeys)
          .mint(work, host.organization.id, { name: "t", kind: scopes ? "token" : "api_key", role, scopes: scopes ?? null, user: null }),
      )

  it("says who did what, with the request's id", async () => {
    await host.api("POST", "/v1/datasets", { name: "Leads" }, { headers: { "x-request-id": "the-request" } })
    const [entry] = (await list("?operation=datasets.create")).audit_log
    expect(entry).to.deep.include({
      operation: "datasets.create",
      request_id: "the-request",
      changes: { name: "Leads", description: "", class: "table", purpose: "" },
    })
    expect(entry?.actor).to.include({ surface: "rest" })
    expect(entry?.actor.user_id).to.match(/^[0-9a-f-]{36}$/)
    expect(entry?.writes.map(({ before }) => before)).to.include(null)
    expect(entry?.writes.some(({ after }) => after?.["slug"] === "leads")).to.equal(true)
  })

  it("shows what was there before a change and after it, only as far as it was touched", async () => {
    await host.api("PATCH", "/v1/datasets/leads", { description: "Everyone who asked" })
    const [entry] = (await list("?operation=datasets.update")).audit_log
    expect(entry?.target).to.deep.equal({ slug: "leads" })
    const write = entry?.writes.find(({ after }) => after?.["description"] !== undefined)
    expect([write?.before?.["description"], write?.after?.["description"]]).to.deep.equal(["", "Everyone who asked"])
    expect(write?.before).not.to.have.property("slug")
  })

  it("holds no secret of what was made or sent", async () => {
    const pipeline = {
      name: "Signed",
      source_kind: "third_party_webhook",
      auth_mode: "hmac_sha256",
      auth_config: { secret: "whsec_hunter2hunter2hunter2" },
      pipeline: [],
    }
    const response = await host.api("POST", "/v1/event-pipelines", pipeline)
    expect(response.status).to.equal(200)
    const rotated = await host.api<{ secret: string }>("POST", "/v1/event-pipelines/signed/rotate-secret", {})
    const key = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "another" })
    const text = JSON.stringify(await list("?limit=200"))
    for (const secret of ["hunter2", rotated.body.secret, key.body.secret]) expect(text).not.to.contain(secret)
    expect(text).to.contain("event_pipelines.rotate_secret").and.to.contain("api_keys.create").and.to.contain("[redacted]")
    expect(text).not.to.match(/"hash":"[0-9a-f]{64}"/)
  })

  it("shows the first of many documents, and says how many more there were", async () => {
    const rows = Array.from({ length: 25 }, (_, n) => ({ n }))
    expect((await host.api("POST", "/v1/datasets/leads/rows", { rows })).status).to.equal(200)
    const [entry] = (await list("?operation=datasets.insert_rows")).audit_log
    const rowsTold = entry?.writes.filter(({ collection }) => collection === "dataset_rows").length
    expect([rowsTold, (entry?.more_writes ?? 0) >= 15]).to.deep.equal([10, true])
    expect(entry?.writes.every(({ before, after }) => before === null || after !== null)).to.equal(true)
  })

  it("leaves out what failed and what only read", async () => {
    const count = (await list("?limit=200")).audit_log.length
    await host.api("GET", "/v1/datasets")
    await host.api("POST", "/v1/datasets", { name: "" })
    await host.api("PATCH", "/v1/datasets/nowhere", { description: "x" })
    expect((await list("?limit=200")).audit_log).to.have.lengthOf(count)
  })

  it("filters by actor, operation and time, and pages newest first", async () => {
    const other = await mint("admin")
    const since = new Date().toISOString()
    for (const name of ["One", "Two", "Three"]) await host.api("POST", "/v1/datasets", { name }, { key: other.text })
    const mine = await list(`?actor=${other.stored.id}`)
    expect(mine.audit_log.map(({ changes }) => changes["name"])).to.deep.equal(["Three", "Two", "One"])
    expect((await list(`?actor=${other.stored.id}&operation=datasets.update`)).audit_log).to.deep.equal([])
    expect((await list(`?since=${since}`)).audit_log).to.have.lengthOf(3)
    expect((await list(`?until=${since}`)).audit_log.map(({ changes }) => changes["name"])).not.to.include("One")
    const first = await list(`?actor=${other.stored.id}&limit=2`)
    const second = await list(`?actor=${other.stored.id}&limit=2&cursor=${first.next_cursor}`)
    expect([...first.audit_log, ...second.audit_log]).to.deep.equal(mine.audit_log)
    expect(second.next_cursor).to.equal("")
    const foreign = await host.api<{ code: string }>("GET", `/v1/audit-log?cursor=${first.next_cursor}`)
    expect([foreign.status, foreign.body.code]).to.deep.equal([400, "invalid_argument"])
    const reversed = await host.api<{ message: string }>("GET", `/v1/audit-log?since=${since}&until=2000-01-01T00:00:00Z`)
    expect(reversed.body.message).to.contain("until")
  })

  it("is for admins, and for tokens with its scope", async () => {
    expect((await host.api("GET", "/v1/audit-log", undefined, { key: (await mint("member")).text })).status).to.equal(403)
    expect((await host.api("GET", "/v1/audit-log", undefined, { key: (await mint("owner", ["datasets:read"])).text })).status).to.equal(403)
    expect((await list("?limit=1", (await mint("admin", ["audit_log:read"])).text)).audit_log).to.have.lengthOf(1)
  })
})

describe("records of the audit log", () => {
  it("go when their time is over, as the settings say, and not before", async () => {
    const host = await testHost({ env: { MILLRACE_RETENTION_AUDIT_DAYS: "30" } })
    try {
      const readLog = async () =>
        (await host.api<Page>("GET", "/v1/audit-log?limit=200")).body.audit_log.map(({ changes }) => changes["name"])
      await host.api("POST", "/v1/datasets", { name: "Old" })
      host.clock.move(29 * 86_400_000)
      await host.api("POST", "/v1/datasets", { name: "New" })
      expect(await readLog()).to.deep.equal(["New", "Old"])
      host.clock.move(2 * 86_400_000)
      const remaining = await until("the old record being removed", async () => {
        host.clock.move(60_000)
        const names = await readLog()
        return names.length < 2 && names
      })
      expect(remaining).to.deep.equal(["New"])
    } finally {
      await host.stop()
    }
  })
})
