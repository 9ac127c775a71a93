// Heartbeats at gates, with a loopback model provider: waiting calls, allowed deciders, and the execution afterwards.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { UserSessions } from "../../../plugins/platform/identity/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { until } from "../../waiting.ts"
import { gatedNotes, memberOf, performed, signedIn } from "../approvals/gated-notes.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"

interface Heartbeat {
  readonly id: string
  readonly state: string
  readonly paused_reason: string
}
interface Refused {
  readonly details: { readonly reason?: string }
}
interface Run {
  readonly id: string
  readonly status: string
  readonly message: string
  readonly reason: string
  readonly steps: readonly { readonly ok: boolean | null; readonly answer: string }[]
}
interface Approval {
  readonly id: string
  readonly why: string
  readonly input: unknown
  readonly what: string
  readonly state: string
  readonly receipt: { readonly ok: boolean; readonly error: { readonly reason: string } | null } | null
}

const mail = (more: object = {}) => ({ id: "thank", type: "email.send", to: "{{ event.email }}", heading: "Thanks", ...more })

describe("heartbeats at gates", () => {
  let server: ModelServer
  let host: TestHost
  before(async () => {
    server = await modelServer()
    const model = { base_url: server.url, model: "agent-1", prices: { input: 1_000_000, output: 0 } }
    const settings = { models: { agent: model, max_retries: 0 } }
    host = await testHost({
      plugins: [gatedNotes],
      capture: false,
      env: { MILLRACE_JOBS_POLL_MS: "50", MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) },
    })
  })
  after(async () => {
    await host.stop()
    await server.close()
  })

  const run = async (id: string): Promise<Run> => {
    const started = (await host.api<Run>("POST", `/v1/heartbeats/${id}/run`)).body
    return await until("the run to end", async () => {
      const item = (await host.api<Run>("GET", `/v1/heartbeats/${id}/runs/${started.id}`)).body
      return ["queued", "running"].includes(item.status) ? undefined : item
    })
  }
  const pending = (look: (item: Approval) => boolean) =>
    until("the approval", async () => {
      const { approvals } = (await host.api<{ approvals: Approval[] }>("GET", "/v1/approvals?state=pending")).body
      return approvals.find(look)
    })

  it("cannot remove a gate from a pipeline, and their steps wait", async () => {
    const document = { name: "Letters", state: "active", source_kind: "internal", pipeline: [mail({ gate: true })] }
    expect((await host.api("POST", "/v1/event-pipelines", document)).status).to.equal(200)
    const tools = ["event_pipelines.update", "event_pipelines.send_event"]
    const body = { name: "Agent", kind: "instructions", interval_minutes: 60, instructions: "Send it.", role: "member", tools }
    const { id } = (await host.api<{ id: string }>("POST", "/v1/heartbeats", body)).body
    const update = (step: object) => ({ calls: [{ name: "event_pipelines_update", input: { slug: "letters", pipeline: [step] } }] })
    server.answer(({ answers }) => {
      if (answers.length === 0) return update(mail({ heading: "Mine" }))
      if (answers.length === 1) return update(mail({ gate: true, heading: "Mine" }))
      const event = { slug: "letters", payload: { email: "eve@example.com" } }
      return answers.length === 2 ? { calls: [{ name: "event_pipelines_send_event", input: event }] } : "Done."
    })
    expect(await run(id)).to.include({ status: "succeeded", message: "" })
    expect(server.asked[1]?.answers[0]).to.include("person_needed")
    const waiting = await pending(({ why }) => why.includes('"letters"'))
    expect(waiting.why).to.include("An agent changed pipeline")
    expect(waiting.input).to.deep.equal([{ to: "eve@example.com", heading: "Mine" }])
  })

  const instructed = (more: object = {}) => ({
    ...{ name: "Agent", kind: "instructions", interval_minutes: 60, instructions: "Write it.", role: "member" },
    ...{ tools: ["gated_notes.write"], ...more },
  })
  const createHeartbeat = async (key: string, more: object = {}) => {
    const { status, body } = await host.api<Heartbeat>("POST", "/v1/heartbeats", instructed(more), { key })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.id
  }
  const heartbeat = async (id: string) => (await host.api<Heartbeat>("GET", `/v1/heartbeats/${id}`)).body
  const approval = async (id: string) => (await host.api<Approval>("GET", `/v1/approvals/${id}`)).body
  const decide = (id: string, key: string) => host.api<Refused>("POST", `/v1/approvals/${id}/decide`, { decision: "approve" }, { key })
  const ended = (id: string) =>
    until("the receipt", async () => {
      const item = await approval(id)
      return item.receipt ? item : undefined
    })
  /** Makes the heartbeat request a note. */
  const runWith = async (heartbeatId: string, text: string) => {
    server.answer(({ answers }) => (answers.length === 0 ? { calls: [{ name: "gated_notes_write", input: { text } }] } : "Done."))
    expect(await run(heartbeatId)).to.include({ status: "succeeded" })
    return (await pending(({ what }) => what.includes(text))).id
  }
  const revoke = async (id: string) => expect((await host.api("POST", `/v1/api-keys/${id}/revoke`)).status).to.equal(200)

  it("have approved calls done, once, and not by a decision of an author", async () => {
    const maker = await memberOf(host, "maker")
    const id = await createHeartbeat(maker.key)
    const note = await runWith(id, "From a heartbeat")
    const other = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Other", role: "admin" }, { key: maker.key })
    for (const key of [maker.key, other.body.secret]) {
      const { status, body } = await decide(note, key)
      expect([status, body.details.reason]).to.deep.equal([403, "own_request"])
    }
    expect((await decide(note, host.adminKey)).status).to.equal(200)
    expect((await ended(note)).receipt).to.include({ ok: true })
    expect(performed.get("From a heartbeat")).to.equal(1)
    // An editor of its instructions is also responsible for it.
    expect((await host.api("PATCH", `/v1/heartbeats/${id}`, { instructions: "Write more." })).status).to.equal(200)
    const second = await runWith(id, "From two authors")
    expect((await decide(second, host.adminKey)).body.details.reason).to.equal("own_request")
    expect((await decide(second, maker.key)).body.details.reason).to.equal("own_request")
    expect((await decide(second, (await memberOf(host, "third")).key)).status).to.equal(200)
    expect((await ended(second)).receipt).to.include({ ok: true })
  })

  it("outlive the session in which a person made them, and that person answers for their calls", async () => {
    const maker = await memberOf(host, "signed-in")
    const session = await signedIn(host, maker.user)
    const id = await createHeartbeat(session)
    await host.get(UnitsOfWork).run((work) => host.get(UserSessions).endAllOf(work, maker.user))
    const note = await runWith(id, "From a person's heartbeat")
    for (const key of [maker.key, await signedIn(host, maker.user)])
      expect((await decide(note, key)).body.details.reason).to.equal("own_request")
    expect((await decide(note, host.adminKey)).status).to.equal(200)
    expect((await ended(note)).receipt).to.include({ ok: true })
    const remaining = await runWith(id, "After the person left")
    expect((await host.api("DELETE", `/v1/members/${maker.user}`)).status).to.equal(200)
    const { body } = await host.api<{ state: string }>("GET", `/v1/approvals/${remaining}`)
    expect([body.state, (await heartbeat(id)).state]).to.deep.equal(["rejected", "paused"])
  })

  it("have no call done after the maker lost access, the tool was removed, or the heartbeat was deleted", async () => {
    const changes: [string, (id: string, maker: string) => Promise<unknown>][] = [
      ["revoked", (_id, maker) => revoke(maker)],
      ["narrowed", (id) => host.api("PATCH", `/v1/heartbeats/${id}`, { tools: [] })],
      ["deleted", (id) => host.api("DELETE", `/v1/heartbeats/${id}`)],
    ]
    const decider = (await memberOf(host, "decider")).key
    for (const [name, change] of changes) {
      const maker = await memberOf(host, `${name}-maker`)
      const id = await createHeartbeat(maker.key)
      const note = await runWith(id, `Note of one that is ${name}`)
      await change(id, maker.id)
      expect((await decide(note, decider)).status, name).to.equal(200)
      expect((await ended(note)).receipt?.error?.reason, name).to.equal("requester_revoked")
      expect(performed.has(`Note of one that is ${name}`)).to.equal(false)
    }
  })

  it("stop with a reason after their maker's key is revoked, until a caller with these rights resumes them", async () => {
    const maker = await memberOf(host, "leaver")
    const script = { kind: "script", script_js: "function script() { return null }", instructions: "", role: "guest", tools: [] }
    const ids = [await createHeartbeat(maker.key), await createHeartbeat(maker.key, script)]
    await revoke(maker.id)
    for (const id of ids) {
      server.forget()
      expect(await run(id)).to.include({ status: "failed", reason: "maker_revoked" })
      expect(server.asked).to.have.length(0)
      const { state, paused_reason } = await heartbeat(id)
      expect([state, paused_reason.includes("was revoked")]).to.deep.equal(["paused", true])
      server.answer(() => "Done.")
      expect((await host.api("POST", `/v1/heartbeats/${id}/resume`)).status).to.equal(200)
      expect(await run(id)).to.include({ status: "succeeded" })
    }
  })

  it("act with the lesser role of their own and their maker's", async () => {
    const maker = await memberOf(host, "demoted")
    const id = await createHeartbeat(maker.key, { role: "admin", tools: ["autonomy_gates.get", "event_pipelines.list_secrets"] })
    await host.get(UnitsOfWork).run((work) => host.get(Organizations).addMember(work, host.organization.id, maker.user, "member"))
    server.answer(({ answers }) => {
      if (answers.length > 0) return "Done."
      return { calls: [{ name: "event_pipelines_list_secrets", input: { slug: "letters" } }] }
    })
    const { steps } = await run(id)
    expect(steps[0]?.ok).to.equal(false)
    expect(steps[0]?.answer).to.include("role_too_low")
  })

  it("are run and resumed only by callers who may do what they do", async () => {
    const member = await memberOf(host, "member", "member")
    const id = await createHeartbeat(host.adminKey, { role: "admin", tools: ["autonomy_gates.get"] })
    await host.api("POST", `/v1/heartbeats/${id}/pause`)
    const token = await host.get(UnitsOfWork).run((work) => {
      const keyOptions = { name: "Token", kind: "token", role: "admin", scopes: ["heartbeats:write"], manager: false, user: null } as const
      return host.get(ApiKeys).mint(work, host.organization.id, keyOptions).text
    })
    for (const key of [member.key, token])
      for (const verb of ["run", "resume"]) {
        const { status, body } = await host.api<Refused>("POST", `/v1/heartbeats/${id}/${verb}`, undefined, { key })
        expect([status, body.details.reason], verb).to.deep.equal([403, "heartbeat_beyond_caller"])
      }
    expect((await heartbeat(id)).state).to.equal("paused")
    expect((await host.api("POST", `/v1/heartbeats/${id}/resume`)).status).to.equal(200)
  })
})
