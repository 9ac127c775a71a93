// Calls through REST: permissions, refusals, and effects.
import { expect } from "chai"
import { AuditLog } from "../../core/surface/call/audit.ts"
import { Notes, orgA, orgB } from "./operations.ts"
import { call, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

describe("a call", () => {
  let bench: SurfaceBench
  before(async () => {
    bench = await openSurfaceBench()
  })
  after(() => bench.close())

  const fieldsOf = (answer: Awaited<ReturnType<typeof call>>) => answer.json.details["fields"] as { path: string; message: string }[]
  const notes = () => bench.store.open(Notes, orgA.id).count({})

  it("is refused without a credential, with what HTTP asks for", async () => {
    const answer = await call(bench, "GET", "/v1/notes", { key: null })
    expect(answer.status).to.equal(401)
    expect(answer.json).to.include({ code: "unauthenticated" })
    expect(answer.headers.get("www-authenticate")).to.match(/^Bearer/)
    expect((await call(bench, "GET", "/v1/notes", { key: "nobody" })).status).to.equal(401)
    expect((await call(bench, "GET", "/v1/notes", { key: null, headers: { authorization: "Basic YTpi" } })).status).to.equal(401)
  })

  it("needs the scope, the role and staff, and says which", async () => {
    const scope = await call(bench, "POST", "/v1/notes", { key: "a-reader", body: { id: "x", text: "x" } })
    expect(scope.status).to.equal(403)
    expect(scope.json.details).to.include({ reason: "missing_scope", needed_scope: "notes:write" })
    const role = await call(bench, "PATCH", "/v1/notes/x", { body: { text: "y" } })
    expect(role.json.details).to.include({ reason: "role_too_low", needed_role: "admin", role: "member" })
    const staff = await call(bench, "POST", "/v1/faults", { body: { how: "throw" } })
    expect(staff.json.details).to.include({ reason: "staff_only" })
    expect(await notes()).to.equal(0)
  })

  it("names every wrong field at once, with dotted paths and a guess at what was meant", async () => {
    const answer = await call(bench, "POST", "/v1/notes", { body: { id: "", txt: "x", tags: [{ label: 1, wieght: 2 }] } })
    expect(answer.status).to.equal(400)
    expect(answer.json).to.include({ code: "invalid_argument" })
    expect(answer.json.details["reason"]).to.equal("invalid_fields")
    expect(fieldsOf(answer).map(({ path }) => path)).to.have.members(["id", "text", "txt", "tags.0.label", "tags.0.wieght"])
    expect(fieldsOf(answer).find(({ path }) => path === "txt")?.message).to.contain('Did you mean "text"?')
    expect(fieldsOf(answer).find(({ path }) => path === "tags.0.wieght")?.message).to.contain('Did you mean "weight"?')
    expect(await notes()).to.equal(0)
  })

  it("commits its change and its audit record together, with secrets cut", async () => {
    const answer = await call(bench, "POST", "/v1/notes", {
      body: { id: "n1", text: "hello", secret: "hunter2" },
      headers: { "x-request-id": "req-1" },
    })
    expect(answer.status).to.equal(201)
    expect(answer.json).to.deep.equal({ id: "n1", text: "hello", secret: "shown-hunter2" })
    const [record] = await bench.store.open(AuditLog, orgA.id).find({})
    expect(record).to.deep.include({ operation: "notes.create", target: {}, request_id: "req-1" })
    expect(record?.actor).to.deep.equal({ credential_id: "a-member", user_id: "user-a-member", organization_id: null, surface: "rest" })
    expect(record?.changes).to.deep.equal({ id: "n1", text: "hello", secret: "[redacted]" })
    expect(await bench.store.open(AuditLog, orgB.id).count({})).to.equal(0)
  })

  it("leaves no audit record when it fails, or only reads", async () => {
    const before = await bench.store.open(AuditLog, orgA.id).count({})
    expect((await call(bench, "POST", "/v1/notes", { body: { id: "n1", text: "again" } })).status).to.equal(409)
    expect((await call(bench, "PATCH", "/v1/notes/none", { key: "a-admin", body: { text: "x" } })).status).to.equal(404)
    await call(bench, "GET", "/v1/notes")
    expect(await bench.store.open(AuditLog, orgA.id).count({})).to.equal(before)
  })

  it("keeps path parameters in the audit as the target", async () => {
    expect((await call(bench, "PATCH", "/v1/notes/n1", { key: "a-admin", body: { text: "better" } })).status).to.equal(200)
    const record = await bench.store.open(AuditLog, orgA.id).first({ operation: "notes.update" })
    expect(record).to.deep.include({ target: { id: "n1" }, changes: { text: "better" } })
  })

  it("finds nothing of another organization", async () => {
    expect((await call(bench, "GET", "/v1/notes/n1", { key: "b-member" })).status).to.equal(404)
    expect((await call(bench, "GET", "/v1/notes", { key: "b-member" })).json["notes"]).to.deep.equal([])
  })

  it("drops what MCP callers cannot set before anything reads it", async () => {
    const operation = bench.operations.find(({ name }) => name === "notes.create")
    if (!operation) throw new Error("no such operation")
    const credentials = { bearer: "a-member", organization: undefined, surface: "mcp" as const, requestId: "m", log: bench.log }
    const answer = await bench.makeInvoker().invoke(operation, { id: "m1", text: "by MCP", secret: "set" }, credentials)
    expect(answer).to.deep.include({ kind: "json", body: { id: "m1", text: "by MCP" } })
  })

  it("answers an unknown exception and a wrong output with a fixed message, the cause in the log beside the request id", async () => {
    for (const how of ["throw", "wrong_output", "stage"]) {
      const answer = await call(bench, "POST", "/v1/faults", { key: "a-staff", body: { how }, headers: { "x-request-id": `fault-${how}` } })
      expect(answer.status, how).to.equal(500)
      expect(answer.json).to.include({ code: "internal" })
      expect(answer.text).not.to.contain("hunter2")
      expect(bench.logged.some((line) => line.includes(`fault-${how}`) && line.includes("call failed"))).to.equal(true)
    }
    expect(await bench.store.open(Notes, orgA.id).get("sneaked")).to.equal(undefined)
  })
})

describe("rate limits", () => {
  let bench: SurfaceBench
  before(async () => {
    bench = await openSurfaceBench({ rateLimits: { key_per_minute: 3, organization_per_minute: 5 } })
    bench.clock.stand()
  })
  after(() => bench.close())

  it("tell what is left, refuse what is beyond, and let go again with time", async () => {
    const first = await call(bench, "GET", "/v1/notes")
    expect(first.headers.get("ratelimit-policy")).to.equal('"key";q=3;w=60, "organization";q=5;w=60')
    expect(first.headers.get("ratelimit")).to.match(/^"key";r=2;t=\d+, "organization";r=4;t=\d+$/)
    expect(first.headers.has("retry-after")).to.equal(false)
    await call(bench, "GET", "/v1/notes")
    const forbidden = await call(bench, "POST", "/v1/faults", { body: { how: "throw" } })
    expect(forbidden.status).to.equal(403)
    expect(forbidden.headers.get("ratelimit")).to.match(/"key";r=0/)

    const refused = await call(bench, "GET", "/v1/notes")
    expect(refused.status).to.equal(429)
    expect(refused.json).to.include({ code: "resource_exhausted" })
    expect(refused.json.details).to.include({ reason: "rate_limited", quota: "key" })
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 20)
    expect(refused.headers.get("ratelimit")).to.match(/"key";r=0/)

    for (const _ of [1, 2]) expect((await call(bench, "GET", "/v1/notes", { key: "a-admin" })).status).to.equal(200)
    const shared = await call(bench, "GET", "/v1/notes", { key: "a-guest" })
    expect(shared.status).to.equal(429)
    expect(shared.json.details).to.include({ quota: "organization" })
    expect((await call(bench, "GET", "/v1/notes", { key: "b-member" })).status).to.equal(200)

    bench.clock.ahead += 21_000
    expect((await call(bench, "GET", "/v1/notes")).status).to.equal(200)
  })
})
