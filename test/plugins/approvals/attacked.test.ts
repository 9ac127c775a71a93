// Attempts to run an action without approval, twice, or in another form than approved.
import { expect } from "chai"
import { z } from "zod"
import { definePlugin, Log, Store, UnitsOfWork } from "#core"
import { EntryCollection } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { ApprovalLinks } from "../../../plugins/platform/approvals/index.ts"
import { ApiKeys, Organizations, Sessions } from "../../../plugins/platform/organizations/index.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { gatedNotes, memberOf, NoteCollection, performed } from "./gated-notes.ts"

interface Approval {
  readonly id: string
  readonly state: string
  readonly input: { text: string }[]
  readonly receipt: { ok: boolean; error: { code: string; message: string; reason: string | null } | null } | null
}
interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { reason?: string; fields?: { path: string }[] }
}
type Steps = Record<string, { state: string; approval_id?: string; error: { message: string } | null }>

const dayMs = 86_400_000
const hourMs = 3_600_000

/** Provides a page for each approval. */
const pages = definePlugin({
  id: "approval-pages",
  needs: ["approvals"],
  config: z.strictObject({}),
  extend: [[ApprovalLinks, (id = "") => `https://console.example.com/console/approvals/${id}`]],
  register: () => undefined,
})

describe("approvals, attacked", () => {
  let host: TestHost
  let second: string
  before(async () => {
    host = await testHost({ plugins: [gatedNotes, pages] })
    second = (await memberOf(host, "second")).key
  })
  after(() => host.stop())

  const write = (text: string, options: object = {}) =>
    host.api<{ approval_id: string; status: string } & Refusal>("POST", "/v1/gated-notes", { text }, options)
  const requestWrite = async (text: string, options: object = {}) => (await write(text, options)).body.approval_id
  const approval = async (id: string) => (await host.api<Approval>("GET", `/v1/approvals/${id}`)).body
  const decide = (id: string, body: object, options: object = { key: second }) =>
    host.api<Approval & Refusal>("POST", `/v1/approvals/${id}/decide`, body, options)
  const ended = (id: string) =>
    until("the receipt", async () => {
      const item = await approval(id)
      return item.receipt ? item : undefined
    })
  const notes = async (text: string) => await host.get(Store).open(NoteCollection, host.organization.id).find({ text })
  const mails = () => host.mails.filter(({ subject }) => !subject.endsWith("for your approval"))

  const pipeline = async (name: string, step: object = {}) => {
    const mail = { id: "thank", type: "email.send", gate: true, to: "{{ event.email }}", heading: "Thanks", ...step }
    const document = { name, state: "active", auth_mode: "none", pipeline: [mail] }
    const response = await host.api<{ slug: string; inbound_url: string }>("POST", "/v1/event-pipelines", document)
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    return response.body
  }
  const steps = async (slug: string, execution: string) =>
    (await host.api<{ steps: Steps }>("GET", `/v1/event-pipelines/${slug}/executions/${execution}`)).body.steps
  const waits = (slug: string, execution: string) =>
    until("the step to wait", async () => (await steps(slug, execution))["thank"]?.approval_id)
  const sendTo = async (createdPipeline: { slug: string; inbound_url: string }, event: object = { email: "ada@example.com" }) => {
    const { execution_id: execution } = (await host.send<{ execution_id: string }>(createdPipeline, event)).body
    return { execution, id: await waits(createdPipeline.slug, execution) }
  }

  it("are told of by a mail that leads to their page, where a plugin has pages", async () => {
    const id = await requestWrite("Look at this")
    host.clock.move(60_000)
    const mail = await until("the mail", () => host.mails.find(({ text }) => text.includes(id)))
    expect(mail.text).to.contain(`https://console.example.com/console/approvals/${id}`).and.not.contain("/v1/approvals")
    await decide(id, { decision: "reject" })
  })

  it("by another key of the member who asked", async () => {
    const ada = await memberOf(host, "ada")
    const id = await requestWrite("By herself", { key: ada.key })
    const other = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Other", role: "admin" }, { key: ada.key })
    for (const key of [ada.key, other.body.secret]) {
      const { status, body } = await decide(id, { decision: "approve" }, { key })
      expect([status, body.details.reason]).to.deep.equal([403, "own_request"])
    }
    expect((await decide(id, { decision: "reject" })).status).to.equal(200)
  })

  it("by a session of the key of no member that asked, by a key made with it, or by the key where its session asked", async () => {
    const secretOf = async (key: string) =>
      (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Made", role: "admin" }, { key })).body.secret
    const signedIn = { organization: undefined, surface: "rest", requestId: "r", log: host.get(Log) } as const
    const session = async (bearer: string) => (await host.get(Sessions).signIn({ ...signedIn, bearer })).text
    const serviceKey = (name: string) =>
      host.get(UnitsOfWork).run((work) => {
        const keyOptions = { name, kind: "api_key", role: "admin", scopes: null, user: null } as const
        return host.get(ApiKeys).mint(work, host.organization.id, keyOptions).text
      })
    const reasonOf = async (answer: ReturnType<typeof decide>) => (await answer).body.details?.reason
    const service = await serviceKey("service")
    const text = await secretOf(service)
    const id = await requestWrite("By a service", { key: service })
    for (const key of [service, await session(service), text, await secretOf(text), await session(text)])
      expect(await reasonOf(decide(id, { decision: "approve" }, { key }))).to.equal("own_request")
    const again = await requestWrite("In a browser", { key: await session(service) })
    for (const key of [service, text, await session(service)])
      expect(await reasonOf(decide(again, { decision: "approve" }, { key }))).to.equal("own_request")
    const below = await requestWrite("By an agent", { key: text })
    expect(await reasonOf(decide(below, { decision: "approve" }, { key: service }))).to.equal("own_request")
    for (const value of [id, again, below]) {
      expect(await reasonOf(decide(value, { decision: "reject" }, { key: await serviceKey("other") }))).to.equal("decider_not_a_person")
      expect((await decide(value, { decision: "reject" })).status).to.equal(200)
    }
  })

  it("by a key that was revoked, or whose member may not ask any longer, while it waited", async () => {
    const eve = await memberOf(host, "eve", "member")
    const revoked = await requestWrite("Asked by Eve", { key: eve.key })
    expect((await host.api("POST", `/v1/api-keys/${eve.id}/revoke`, {})).status).to.equal(200)
    expect((await decide(revoked, { decision: "approve" })).status).to.equal(200)
    const refused = await ended(revoked)
    expect([refused.state, refused.receipt?.error?.reason]).to.deep.equal(["failed", "requester_revoked"])
    expect(refused.receipt?.error?.message).to.match(/was revoked at/)
    const max = await memberOf(host, "max", "member")
    const demoted = await requestWrite("Asked by Max", { key: max.key })
    await host.get(UnitsOfWork).run((work) => host.get(Organizations).addMember(work, host.organization.id, max.user, "guest"))
    await decide(demoted, { decision: "approve" })
    expect((await ended(demoted)).receipt?.error?.reason).to.equal("role_too_low")
    for (const text of ["Asked by Eve", "Asked by Max"]) expect([await notes(text), performed.get(text)]).to.deep.equal([[], undefined])
  })

  it("by a key that expired while it waited, unless that was revoked too", async () => {
    const expires_at = new Date(host.clock.now() + hourMs).toISOString()
    const created = { name: "Brief", role: "admin", expires_at }
    const { body } = await host.api<{ secret: string; id: string }>("POST", "/v1/api-keys", created)
    const ids = [await requestWrite("Asked in time", { key: body.secret }), await requestWrite("Asked and revoked", { key: body.secret })]
    host.clock.move(2 * hourMs)
    expect((await write("Asked too late", { key: body.secret })).status).to.equal(401)
    await decide(ids[0] ?? "", { decision: "approve" })
    expect((await ended(ids[0] ?? "")).state).to.equal("done")
    expect(await notes("Asked in time")).to.have.length(1)
    expect((await host.api("POST", `/v1/api-keys/${body.id}/revoke`, {})).status).to.equal(200)
    await decide(ids[1] ?? "", { decision: "approve" })
    expect((await ended(ids[1] ?? "")).receipt?.error?.reason).to.equal("requester_revoked")
    expect(await notes("Asked and revoked")).to.deep.equal([])
  })

  it("by many deciders at once: one decides, the others are told so", async () => {
    const id = await requestWrite("Decided once")
    const decisions = ["approve", "reject", "approve", "reject", "approve"]
    const answers = await Promise.all(decisions.map((decision) => decide(id, { decision })))
    const others = answers.filter(({ status }) => status !== 200)
    expect(others).to.have.length(4)
    for (const { status, body } of others) expect([status, body.details.reason]).to.deep.equal([400, "already_decided"])
    await until("the end", async () => ["done", "rejected"].includes((await approval(id)).state))
    expect((await notes("Decided once")).length).to.equal((await approval(id)).state === "done" ? 1 : 0)
  })

  it("by an operation that makes another input of what was approved, which is never filed", async () => {
    const count = () => host.get(Store).open(collectionNamed<{ state: string }>(host, "approval_requests"), host.organization.id).count({})
    const before = await count()
    expect((await host.api("POST", "/v1/gated-notes/shout", { text: "Shouted" })).status).to.equal(500)
    expect([await count(), performed.get("Shouted!")]).to.deep.equal([before, undefined])
    expect(host.logged.join("")).to.contain("gated_notes.shout changes when it is parsed again")
  })

  it("by repeats with an Idempotency-Key, before and after the decision", async () => {
    const headers = { "Idempotency-Key": "attack-1" }
    const first = await write("Repeated", { headers })
    const id = first.body.approval_id
    const other = await write("Another", { headers })
    expect([other.status, other.body.details.reason]).to.deep.equal([400, "idempotency_key_reused"])
    const approve = () => decide(id, { decision: "approve" }, { key: second, headers: { "Idempotency-Key": "attack-2" } })
    const [one, two] = [await approve(), await approve()]
    expect([one.status, two.body]).to.deep.equal([200, one.body])
    await ended(id)
    expect((await write("Repeated", { headers })).body).to.deep.equal(first.body)
    expect(await notes("Repeated")).to.have.length(1)
    expect(performed.get("Repeated")).to.equal(1)
  })

  it("by an agent, which has no tool to decide, or to lift what holds it back", async () => {
    const mcp = async (name: string, input: object) => {
      const headers = { accept: "application/json, text/event-stream" }
      const params = { name, arguments: input }
      const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params }
      return JSON.stringify((await host.api<object>("POST", "/mcp", call, { headers })).body)
    }
    const answer = await mcp("gated_notes_write", { text: "From an agent" })
    const [id = ""] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(answer) ?? []
    expect([(await approval(id)).state, answer.includes("pending_approval")]).to.deep.equal(["pending", true])
    expect(await mcp("approvals_decide", { id, decision: "approve" })).to.match(/error|not found|unknown/i)
    expect((await approval(id)).state).to.equal("pending")
    await decide(id, { decision: "reject" })
    const holding = async () => (await host.api("GET", "/v1/autonomy-gates")).body
    const before = await holding()
    expect(await mcp("autonomy_gates_set", { gates: [] })).to.match(/error|not found|unknown/i)
    expect(await holding()).to.deep.equal(before)
  })

  it("from another organization, by its own admin or under its name", async () => {
    const id = await requestWrite("Not yours")
    const key = await host.get(UnitsOfWork).run((work) => {
      const { id: other } = host.get(Organizations).create(work, { name: "Elsewhere", slug: "elsewhere" })
      return host.get(ApiKeys).mint(work, other, { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null }).text
    })
    for (const headers of [{}, { "X-Organization-ID": host.organization.id }]) {
      expect((await decide(id, { decision: "approve" }, { key, headers })).status).to.equal(404)
      expect((await host.api("GET", `/v1/approvals/${id}`, undefined, { key, headers })).status).to.equal(404)
    }
    expect((await host.api("PUT", "/v1/autonomy-gates", { gates: [] }, { key })).status).to.equal(200)
    expect((await write("Still gated")).body.status).to.equal("pending_approval")
    expect((await approval(id)).state).to.equal("pending")
  })

  it("by a replay of what was approved, a dry run, and lifting the gate while it waits", async () => {
    const before = mails().length
    const createdPipeline = await pipeline("Replayed")
    const { execution, id } = await sendTo(createdPipeline)
    const dry = await host.api<{ effects: { sends: unknown[] } }>("POST", `/v1/event-pipelines/${createdPipeline.slug}/test`, {
      payload: { email: "ada@example.com" },
    })
    expect(dry.body.effects.sends).to.have.length(1)
    await host.api("PUT", "/v1/autonomy-gates", { gates: [] })
    await host.api("PUT", "/v1/autonomy-gates", { gates: null })
    expect((await steps(createdPipeline.slug, execution))["thank"]).to.include({ state: "pending", approval_id: id })
    expect(mails()).to.have.length(before)
    await decide(id, { decision: "approve" })
    await ended(id)
    const replay = await host.api<{ execution_id: string }>(
      "POST",
      `/v1/event-pipelines/${createdPipeline.slug}/executions/${execution}/replay`,
      {},
    )
    const again = await waits(createdPipeline.slug, replay.body.execution_id)
    expect(again).to.not.equal(id)
    expect((await approval(again)).state).to.equal("pending")
    expect(mails()).to.have.length(before + 1)
    await decide(again, { decision: "reject" })
  })

  it("by an edit of more or fewer runs than the step has, or of text that cannot be stored", async () => {
    const before = mails().length
    const createdPipeline = await pipeline("Each", { for_each: "event.emails", to: "{{ item }}" })
    const { id } = await sendTo(createdPipeline, { emails: ["ada@example.com", "bob@example.com"] })
    const run = (to: string, heading = "Hello") => ({ to, heading })
    for (const input of [[run("ada@example.com")], [], ["ada", "bob", "eve"].map((name) => run(`${name}@example.com`)), {}]) {
      const { status, body } = await decide(id, { decision: "edit", input })
      expect([status, body.details.fields?.[0]?.path], JSON.stringify(input)).to.deep.equal([400, "input"])
    }
    const half = await decide(id, { decision: "edit", input: [run("ada@example.com"), run("bob@example.com", "\ud83d")] })
    expect([half.status, half.body.details.fields?.[0]?.path]).to.deep.equal([400, "input.1.heading"])
    expect((await decide(id, { decision: "reject", note: "\udc00" })).body.details.fields?.[0]?.path).to.equal("note")
    const edited = await decide(id, { decision: "edit", input: [run("ada@example.com"), run("carol@example.com")] })
    expect(edited.status, JSON.stringify(edited.body)).to.equal(200)
    expect((await ended(id)).state).to.equal("done")
    const to = mails()
      .slice(before)
      .flatMap((mail) => mail.to)
    expect(to).to.deep.equal(["ada@example.com", "carol@example.com"])
    const call = await write("Half a \ud83d")
    expect([call.status, call.body.details.fields?.[0]?.path]).to.deep.equal([400, "text"])
  })

  it("by a step that leaves to the event what it sends: it is shown, and part of the digest", async () => {
    const document = { name: "Within", source_kind: "internal", state: "active", pipeline: [] }
    expect((await host.api("POST", "/v1/event-pipelines", document)).status).to.equal(200)
    const send = { id: "thank", type: "pipeline.send", gate: true, pipeline: "within" }
    const outer = { name: "Without", state: "active", auth_mode: "none", pipeline: [send] }
    const createdPipeline = (await host.api<{ slug: string; inbound_url: string }>("POST", "/v1/event-pipelines", outer)).body
    const { id } = await sendTo(createdPipeline, { email: "ada@example.com" })
    expect((await approval(id)).input).to.deep.equal([{ pipeline: "within", payload: { email: "ada@example.com" } }])
    const inside = async () => (await host.api<{ executions: object[] }>("GET", "/v1/event-pipelines/within/executions")).body.executions
    expect(await inside()).to.deep.equal([])
    await decide(id, { decision: "edit", input: [{ pipeline: "within", payload: { email: "bob@example.com" } }] })
    expect((await ended(id)).state).to.equal("done")
    expect(JSON.stringify(await inside()))
      .to.contain("bob@example.com")
      .and.not.contain("ada@example.com")
  })

  it("by an execution that is gone: what waits or was approved ends with a reason", async () => {
    const forget = (execution: string) =>
      host.get(UnitsOfWork).run((work) => work.in(EntryCollection, host.organization.id).remove(execution))

    const createdPipeline = await pipeline("Deleted")
    const { execution, id } = await sendTo(createdPipeline)
    await forget(execution)
    expect((await decide(id, { decision: "approve" })).status).to.equal(200)
    const { state, receipt } = await ended(id)
    expect([state, receipt?.error?.reason]).to.deep.equal(["failed", "execution_gone"])
    const two = await pipeline("Deleted while it waits")
    const remaining = await sendTo(two)
    await forget(remaining.execution)
    // It checks by itself periodically.
    host.clock.move(301_000)
    const undecided = await ended(remaining.id)
    expect([undecided.state, undecided.receipt?.error?.reason]).to.deep.equal(["expired", "execution_gone"])
    expect((await decide(remaining.id, { decision: "approve" })).body.details.reason).to.equal("already_decided")
  })

  it("leaves no input in the audit log but that of what was performed", async () => {
    const log = async () => (await host.api<{ audit_log: object[] }>("GET", "/v1/audit-log?limit=200")).body
    const text = "Ada lives in Berlin"
    const id = await requestWrite(text)
    const output = JSON.stringify(await log())
    expect(output).to.contain(id).and.not.contain(text)
    const { digest } = (await host.api<{ digest: string }>("GET", `/v1/approvals/${id}`)).body
    expect(output).to.contain(digest)
    await decide(id, { decision: "edit", input: { text: "Eve lives in Paris" }, note: "Mended." })
    await ended(id)
    const after = JSON.stringify(await log())
    expect(after).to.contain("Mended.").and.not.contain(text)
    expect(after.split("Eve lives in Paris")).to.have.length.greaterThan(1)
  })

  it("after its time: nothing is performed, also where months pass at once", async () => {
    const before = host.logged.length
    const id = await requestWrite("Too late")
    const stays = await requestWrite("Removed meanwhile")
    host.clock.move(8 * dayMs)
    const late = await decide(id, { decision: "approve" })
    expect([late.status, late.body.details.reason]).to.deep.equal([400, "already_decided"])
    const approvals = host.get(Store).open(collectionNamed<{ state: string }>(host, "approval_requests"), host.organization.id)
    await until("all to be decided", async () => (await approvals.count({ state: "pending" })) === 0)
    expect((await approvals.get(id))?.state).to.equal("expired")
    const more = await requestWrite("Asked before a long time")
    host.clock.move(100 * dayMs)
    await until("them to be removed", async () => {
      const { status } = await host.api("GET", `/v1/approvals/${more}`)
      return status === 404
    })
    for (const text of ["Too late", "Removed meanwhile", "Asked before a long time"]) expect(performed.get(text), text).to.equal(undefined)
    expect(stays).to.be.a("string")
    const retried = host.logged.slice(before).filter((line) => line.includes("approvals.expire") && line.includes("job failed"))
    expect(retried).to.deep.equal([])
  })
})
