// Agents change pipelines over MCP and with a scoped token. Their steps never pass a gate without approval.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys } from "../../../plugins/platform/organizations/index.ts"
import { until } from "../../waiting.ts"

interface Pipeline {
  readonly slug: string
  readonly inbound_url: string
  readonly revision: number
  readonly warnings: readonly string[]
  readonly details: { readonly reason?: string; readonly step?: string }
}
interface Entry {
  readonly status: string
  readonly steps: Record<string, { state: string; approval_id?: string; error: { code: string; message: string } | null }>
}

const path = "/v1/event-pipelines"
const mail = (more: object = {}) => ({ id: "thank", type: "email.send", to: "{{ event.email }}", heading: "Thanks", ...more })
const active = { state: "active", auth_mode: "none" }

describe("pipelines that agents change", () => {
  let host: TestHost
  let token: string
  before(async () => {
    host = await testHost()
    token = await host.get(UnitsOfWork).run((work) => {
      const scopes = ["event_pipelines:write", "event_pipelines:read", "event_pipelines:send", "mcp"]
      const keyOptions = { name: "Agent", kind: "agent", role: "admin", scopes, manager: false, user: null } as const
      return host.get(ApiKeys).mint(work, host.organization.id, keyOptions).text
    })
  })
  after(() => host.stop())

  const person = (name: string, more: object) => host.api<Pipeline>("POST", path, { name, ...active, ...more })
  const save = (slug: string, change: object, options: object = {}) => host.api<Pipeline>("PUT", `${path}/${slug}`, change, options)
  const agent = {
    get key() {
      return token
    },
  }
  const mcp = async (name: string, input: object) => {
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } }
    const headers = { accept: "application/json, text/event-stream" }
    return JSON.stringify((await host.api<object>("POST", "/mcp?tools=all", call, { headers })).body)
  }
  const mails = () => host.mails.filter(({ subject }) => !subject.endsWith("for your approval")).length
  const entryOf = async (slug: string, id: string) => (await host.api<Entry>("GET", `${path}/${slug}/executions/${id}`)).body
  const whenSettled = async (slug: string, id: string, step = "thank") =>
    await until("the step to wait or to end", async () => {
      const { steps } = await entryOf(slug, id)
      const item = steps[step]
      return item && (item.approval_id !== undefined || ["done", "failed"].includes(item.state)) ? item : undefined
    })
  const send = async (slug: string, step = "thank", payload: object = { email: "ada@example.com" }) => {
    const { status, body } = await host.api<{ execution_id: string }>("POST", `${path}/${slug}/events`, { payload })
    expect(status, JSON.stringify(body)).to.equal(200)
    return { id: body.execution_id, ...(await whenSettled(slug, body.execution_id, step)) }
  }
  const waits = async (slug: string, step = "thank") => {
    const before = mails()
    const item = await send(slug, step)
    expect(item).to.include({ state: "pending" })
    expect(item.approval_id).to.be.a("string")
    expect(mails()).to.equal(before)
    return item
  }

  it("wait for approval if they were made over MCP or with a token", async () => {
    expect(await mcp("event_pipelines_create", { name: "Over MCP", ...active, pipeline: [mail()] })).to.include("agent-change")
    await waits("over-mcp")
    const { status, body } = await host.api<Pipeline>("POST", path, { name: "By token", ...active, pipeline: [mail()] }, agent)
    expect([status, body.warnings.some((warning) => warning.startsWith("agent-change"))]).to.deep.equal([200, true])
    await waits("by-token")
    const document = { name: "Applied", ...active, pipeline: [mail()] }
    const documents = [{ path: "pipelines/applied.yaml", document }]
    expect((await host.api("POST", `${path}/apply`, { documents }, agent)).status).to.equal(200)
    await waits("applied")
    expect((await host.api("POST", `${path}/apply`, { documents })).status).to.equal(200)
    expect(await send("applied")).to.include({ state: "done" })
  })

  it("wait in handlers, for each element, and when an event is replayed", async () => {
    const before = (await person("Each", { pipeline: [mail()] })).body
    const { id } = await send(before.slug)
    const item = mail({ for_each: "event.people", to: "{{ item }}" })
    await save("each", { pipeline: [item] }, agent)
    const entry = await send("each", "thank", { people: ["a@example.com", "b@example.com"] })
    const { input } = (await host.api<{ input: object[] }>("GET", `/v1/approvals/${entry.approval_id}`)).body
    expect(input).to.have.length(2)
    const wide = { type: "email.send", to: "{{ event.email }}", heading: "Again" }
    await save("each", { pipeline: [{ ...wide, id: "thank" }] }, agent)
    const replayed = (await host.api<{ execution_id: string }>("POST", `${path}/each/executions/${id}/replay`, {})).body
    expect(await whenSettled("each", replayed.execution_id)).to.include({ state: "pending" })
    const failing = { id: "call", type: "http.request", url: "https://nobody.example.com/", on_error: "tell", retry: { max_attempts: 1 } }
    await host.api("PUT", "/v1/autonomy-gates", { gates: ["email.send"] })
    await host.api("POST", path, { name: "Handler", ...active, pipeline: [failing], handlers: { tell: wide } }, agent)
    await waits("handler", "tell")
    await host.api("PUT", "/v1/autonomy-gates", { gates: null })
  })

  it("wait after an agent enables them, changes their transform or rotates their secret", async () => {
    const own = { auth_mode: "hmac_sha256", pipeline: [mail()] }
    await person("Enabled", { ...own, state: "disabled" })
    await save("enabled", { state: "active" }, agent)
    await waits("enabled")
    await person("Transformed", own)
    await save("transformed", { transform_js: "function transform(event) { return { email: 'eve@example.com' } }" }, agent)
    await waits("transformed")
    await person("Rotated", own)
    expect((await host.api("POST", `${path}/rotated/rotate-secret`, {}, agent)).status).to.equal(200)
    await waits("rotated")
  })

  it("keep their gated steps after any change by an agent", async () => {
    const gated = { pipeline: [mail({ gate: true })], handlers: {} }
    await person("Kept", gated)
    for (const pipeline of [[], [mail()], [mail({ id: "other", gate: true })]]) {
      const { status, body } = await save("kept", { pipeline }, agent)
      expect([status, body.details.reason, body.details.step], JSON.stringify(pipeline)).to.deep.equal([403, "person_needed", "thank"])
    }
    const documents = [{ path: "kept.yaml", document: { name: "Kept", ...active, pipeline: [] } }]
    const applied = await host.api<Pipeline>("POST", `${path}/apply`, { documents, force: true }, agent)
    expect([applied.status, applied.body.details.reason]).to.deep.equal([403, "person_needed"])
    expect((await host.api<Pipeline>("GET", `${path}/kept`)).body.revision).to.equal(1)
    expect((await save("kept", { pipeline: [mail()] })).status).to.equal(200)
    expect(await send("kept")).to.include({ state: "done" })
  })

  it("refuse an agent's step that runs before the reply, and fail it if a person enables it", async () => {
    const awaited = mail({ await: true })
    const refused = await host.api<Pipeline>("POST", path, { name: "Before", ...active, pipeline: [awaited] }, agent)
    expect([refused.status, refused.body.details.reason]).to.deep.equal([403, "person_needed"])
    expect((await host.api("POST", path, { name: "Before", auth_mode: "none", pipeline: [awaited] }, agent)).status).to.equal(200)
    await save("before", { state: "active" })
    const before = mails()
    const { body } = await host.api<{ execution_id: string }>("POST", `${path}/before/events`, { payload: { email: "ada@example.com" } })
    const { error } = await whenSettled("before", body.execution_id)
    expect(error?.message).to.include("runs before the reply")
    // The log has the reason `awaited_step_gated`; an entry has code and message.
    expect(error?.code).to.equal("failed_precondition")
    expect(mails()).to.equal(before)
  })

  it("run at once after a person saves what the agent changed, and under gates that are lifted", async () => {
    await host.api(
      "POST",
      path,
      { name: "Reviewed", ...active, pipeline: [mail()], transform_js: "function transform(e) { return e }" },
      agent,
    )
    await save("reviewed", { name: "Reviewed again" })
    await waits("reviewed")
    await save("reviewed", { pipeline: [mail()] })
    await waits("reviewed")
    await save("reviewed", { transform_js: "function transform(event) { return event }" })
    expect(await send("reviewed")).to.include({ state: "done" })
    await host.api("PUT", "/v1/autonomy-gates", { gates: ["http.request"] })
    await host.api("POST", path, { name: "Lifted", ...active, pipeline: [mail()] }, agent)
    expect(await send("lifted")).to.include({ state: "done" })
    await host.api("PUT", "/v1/autonomy-gates", { gates: null })
  })
})
