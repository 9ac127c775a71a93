// Content of an audit record: no secrets at any depth, all differences of any length, and no values of rows and events.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { isSecretName } from "../../../core/kernel/secret-names.ts"
import { difference } from "../../../core/surface/call/audit-difference.ts"

interface Entry {
  actor: { surface: string }
  target: Record<string, unknown>
  changes: Record<string, unknown>
  writes: { collection: string; id: string; before: Record<string, unknown> | null; after: Record<string, unknown> | null }[]
}

describe("names of secrets", () => {
  it("are known with any case, dashes and underscores, and by how they end", () => {
    const names = ["X-Api-Key", "x_api_key", "apiKey", "XAPIKEY", "x-custom-auth", "X-Auth-Token", "webhook-secret", "X-Hub-Signature"]
    expect(names.filter((name) => !isSecretName(name))).to.deep.equal([])
  })

  it("are not those of harmless fields", () => {
    const names = ["author", "auth_mode", "auth_config", "token_count", "secret_id", "key", "idempotency_key", "oauth", "cursor", "keys"]
    expect(names.filter((name) => isSecretName(name))).to.deep.equal([])
  })
})

describe("what the audit log keeps", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  const last = async (operation: string) => {
    const { body } = await host.api<{ audit_log: Entry[] }>("GET", `/v1/audit-log?limit=1&operation=${operation}`)
    const [entry] = body.audit_log
    if (!entry) throw new Error(`no record of ${operation}`)
    return entry
  }
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await host.api<Record<string, never>>(method, path, body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body
  }

  it("holds no key of another system's, in headers or in an address", async () => {
    const headers = { "X-Api-Key": "TOPSECRET", "x-custom-auth": "T3SECRET", "X-Author": "ada" }
    const url = "https://u:pwSECRET@example.com/hook?token=abcSECRET&page=2#x"
    const step = { id: "tell", type: "http.request", url, headers }
    await call("POST", "/v1/event-pipelines", { name: "Tell", auth_mode: "none", source_kind: "third_party_webhook", pipeline: [step] })
    const text = JSON.stringify(await last("event_pipelines.create"))
    expect(text).to.not.include("SECRET")
    expect(text).to.include('"X-Author":"ada"').and.include("https://[redacted]@example.com/hook?token=[redacted]&page=2#x")
    expect(text).to.include('"auth_mode":"none"')
  })

  it("shows where a long text differs", async () => {
    const lines = Array.from({ length: 40 }, (_, n) => `// line ${n} of a long one`).join("\n")
    const document = { name: "Long", auth_mode: "none", source_kind: "third_party_webhook", pipeline: [] }
    await call("POST", "/v1/event-pipelines", { ...document, transform_js: `${lines}\nfunction transform() { return { a: 1 } }` })
    await call("PUT", "/v1/event-pipelines/long", { transform_js: `${lines}\nfunction transform() { return { a: 22 } }` })
    const { writes } = await last("event_pipelines.update")
    const write = writes.find(({ collection }) => collection === "event_pipelines")
    expect(JSON.stringify(write?.before)).to.include("a: 1 }").and.include("the same)")
    expect(JSON.stringify(write?.after)).to.include("a: 22 }").and.not.include("line 1 of")
  })

  it("tells an event and rows by their sizes, without their values", async () => {
    await call("POST", "/v1/event-pipelines", { name: "Fed", state: "active", source_kind: "internal", auth_mode: "none", pipeline: [] })
    await call("POST", "/v1/event-pipelines/fed/events", { payload: { email: "ada@example.com" } })
    const entry = await last("event_pipelines.send_event")
    expect(entry.target).to.deep.equal({ slug: "fed" })
    expect(entry.changes["payload"]).to.deep.equal({ bytes: 27 })

    await call("POST", "/v1/datasets", { name: "People" })
    const created = await call("POST", "/v1/datasets/people/rows", { rows: [{ email: "ada@example.com" }] })
    const [id = ""] = created["row_ids"] as unknown as string[]
    const inserted = await last("datasets.insert_rows")
    expect(inserted.changes["rows"]).to.deep.equal({ count: 1, bytes: 29 })
    await call("DELETE", `/v1/datasets/people/rows/${id}`)
    const deleted = await last("datasets.delete_row")
    expect(deleted.target).to.deep.equal({ slug: "people", id })
    const row = deleted.writes.find(({ collection }) => collection === "dataset_rows")
    expect(row).to.include({ id, after: null })
    expect(row?.before?.["bytes"]).to.be.greaterThan(29)
    expect(JSON.stringify([entry, inserted, deleted])).to.not.include("ada@")
  })
})

describe("a difference", () => {
  const filler = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, at) => [`field_${at}`, "x".repeat(300)]))

  it("leaves out what stayed the same before it leaves out anything that changed", () => {
    const { before, after } = difference({ ...filler(50), deep: { a: 1, b: 2 } }, { ...filler(50), deep: { a: 1, b: 3 } })
    expect(before).to.deep.equal({ truncated: true, deep: { b: 2, "…": "1 unchanged" }, "…": "50 unchanged" })
    expect(after).to.deep.equal({ truncated: true, deep: { b: 3, "…": "1 unchanged" }, "…": "50 unchanged" })
  })

  it("finds what changed far down a list", () => {
    const list = Array.from({ length: 150 }, (_, n) => ({ n }))
    const { after } = difference({ list }, { list: list.with(140, { n: -1 }) })
    expect(after).to.deep.equal({ truncated: true, list: ["… (140 unchanged)", { n: -1 }, "… (9 unchanged)"] })
  })

  it("is never longer than its room, and tells each field by its own value", () => {
    const sides = difference(null, filler(100)).after as Record<string, string>
    expect(JSON.stringify(sides).length).to.be.at.most(6_000)
    expect(sides["field_0"]).to.match(/^xxx.*300 characters/)
  })
})
