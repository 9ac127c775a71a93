// Steps and calls behind a gate, from the view of an organization's people and programs.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { JobCollection } from "../../../core/jobs/jobs-collection.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { patiently, until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { gatedNotes, memberOf, NoteCollection, performed } from "./gated-notes.ts"

interface Approval {
  readonly id: string
  readonly state: string
  readonly gate: string
  readonly risk: string
  readonly what: string
  readonly why: string
  readonly input: Record<string, unknown> & Record<string, unknown>[]
  readonly digest: string
  readonly asked_digest: string | null
  readonly note: string
  readonly receipt: {
    ok: boolean
    digest: string
    result: unknown
    error: { code: string; message: string; reason?: string } | null
  } | null
}
interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { reason?: string; fields?: { path: string; message: string }[] }
}
interface Entry {
  readonly status: string
  readonly cause: string
  readonly error: { message: string } | null
  readonly steps: Record<string, { state: string; approval_id?: string; attempts: number; error: { message: string } | null }>
}

interface Listed {
  readonly approvals: readonly { readonly id: string }[]
  readonly next_cursor: string
}

const dayMs = 86_400_000
const expireJobs = { type: "approvals.expire" }
describe("approvals", () => {
  let host: TestHost
  let second: string
  before(async () => {
    host = await testHost({ plugins: [gatedNotes] })
    second = (await memberOf(host, "second")).key
  })
  after(() => host.stop())

  const isNotice = ({ subject }: { readonly subject: string }) => subject.endsWith("for your approval")
  const mails = () => host.mails.filter((email) => !isNotice(email))
  const gates = (list: string[] | null) =>
    host.api<{ gates: string[]; gate_everything: boolean } & Refusal>("PUT", "/v1/autonomy-gates", { gates: list })
  const approval = async (id: string) => (await host.api<Approval>("GET", `/v1/approvals/${id}`)).body
  const decide = (id: string, body: object, key = second) =>
    host.api<Approval & Refusal>("POST", `/v1/approvals/${id}/decide`, body, { key })
  const pipeline = async (name: string, step: object) => {
    const response = await host.api<{ slug: string; inbound_url: string }>("POST", "/v1/event-pipelines", {
      name,
      state: "active",
      auth_mode: "none",
      pipeline: [step],
    })
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    return response.body
  }
  const mail = (more: object = {}) => ({
    id: "thank",
    type: "email.send",
    gate: true,
    to: "{{ event.email }}",
    heading: "Thanks, {{ event.name }}",
    retry: { max_attempts: 1 },
    ...more,
  })
  const sendTo = async (createdPipeline: { slug: string; inbound_url: string }, event: object) => {
    const { status, body } = await host.send<{ execution_id: string }>(createdPipeline, event)
    expect(status).to.equal(200)
    const entry = async () =>
      (await host.api<Entry>("GET", `/v1/event-pipelines/${createdPipeline.slug}/executions/${body.execution_id}`)).body
    const waiting = await until("the step to wait", async () => {
      const { steps } = await entry()
      return steps["thank"]?.approval_id === undefined ? undefined : steps["thank"]
    })
    expect(waiting).to.include({ state: "pending", attempts: 0 })
    return { entry, id: waiting.approval_id ?? "" }
  }
  const ended = (entry: () => Promise<Entry>) =>
    until("the step to end", async () => {
      const item = await entry()
      return ["done", "failed"].includes(item.steps["thank"]?.state ?? "") ? item : undefined
    })

  it("hold a step until another admin lets exactly that be done, once", async () => {
    const createdPipeline = await pipeline("Thank", mail())
    const { entry, id } = await sendTo(createdPipeline, { email: "ada@example.com", name: "{{ event.email }} {% raw %}" })
    expect((await entry()).status).to.equal("accepted")
    expect(mails()).to.have.length(0)
    const waits = await approval(id)
    expect(waits).to.include({ state: "pending", gate: "email.send", risk: "medium" })
    expect(waits.input).to.deep.equal([{ to: "ada@example.com", heading: "Thanks, {{ event.email }} {% raw %}" }])
    expect(waits.why).to.contain(createdPipeline.slug)
    const both = await Promise.all([decide(id, { decision: "approve", digest: waits.digest }), decide(id, { decision: "approve" })])
    expect(both.filter(({ status }) => status === 200)).to.have.length(1)
    expect((await ended(entry)).steps["thank"]).to.include({ state: "done", attempts: 1, approval_id: id })
    expect(mails().map(({ subject }) => subject)).to.deep.equal(["Thanks, {{ event.email }} {% raw %}"])
    const decided = await until("the receipt", async () => ((await approval(id)).receipt ? approval(id) : undefined))
    expect([decided.state, decided.receipt?.ok, decided.receipt?.digest]).to.deep.equal(["done", true, waits.digest])
    expect((await decide(id, { decision: "reject" })).body.details.reason).to.equal("already_decided")
  })

  it("tell the admins of what waits by one mail a minute", async () => {
    const createdPipeline = await pipeline("Told", mail())
    // At the start of a new minute.
    host.clock.move(121_000 - (host.clock.now() % 60_000))
    const both = [
      await sendTo(createdPipeline, { email: "ada@example.com", name: "Ada" }),
      await sendTo(createdPipeline, { email: "bob@example.com", name: "Bob" }),
    ]
    host.clock.move(60_000)
    const email = await until("the mail", () => host.mails.find((mail) => isNotice(mail) && mail.text.includes(both[0]?.id ?? "")))
    expect(email.subject).to.equal("2 things wait for your approval")
    expect(email.text).to.contain(both[1]?.id)
    for (const { id } of both) await decide(id, { decision: "reject" })
  })

  it("send their mail to the organization's notification address", async () => {
    await host.api("PATCH", "/v1/organization", { notification_address: "Office@Example.com" })
    const createdPipeline = await pipeline("Office", mail())
    host.clock.move(121_000 - (host.clock.now() % 60_000))
    const { id } = await sendTo(createdPipeline, { email: "ada@example.com", name: "Ada" })
    host.clock.move(60_000)
    const notice = await until("the mail", () => host.mails.find((mail) => isNotice(mail) && mail.text.includes(id)))
    expect(notice.to).to.deep.equal(["office@example.com"])
    await decide(id, { decision: "reject" })
    const cleared = await host.api("PATCH", "/v1/organization", { notification_address: null })
    expect(cleared.body).to.include({ notification_address: null })
    for (const wrong of ["office", "a@b@c", "Office <office@example.com>", ""])
      expect((await host.api("PATCH", "/v1/organization", { notification_address: wrong })).status, wrong).to.equal(400)
  })

  it("are listed newest first, page by page, by state and in all", async () => {
    const createdPipeline = await pipeline("Listed", mail())
    const filed: string[] = []
    for (const name of ["Ada", "Bob", "Cyd", "Dan", "Eve", "Fay"]) {
      host.clock.move(5)
      filed.unshift((await sendTo(createdPipeline, { email: "ada@example.com", name })).id)
    }
    for (const filter of ["", "&state=pending"]) {
      const items: string[] = []
      for (let cursor = ""; items.length < filed.length; ) {
        const { body } = await host.api<Listed>("GET", `/v1/approvals?limit=2&cursor=${cursor}${filter}`)
        items.push(...body.approvals.map(({ id }) => id))
        cursor = body.next_cursor
      }
      expect(items, filter).to.deep.equal(filed)
    }
    for (const id of filed) await decide(id, { decision: "reject" })
  })

  it("do what was edited instead, and refuse an edit that the action would not take", async () => {
    const before = mails().length
    const { entry, id } = await sendTo(await pipeline("Edited", mail()), { email: "ada@example.com", name: "Ada" })
    const request = await approval(id)
    const bad = await decide(id, { decision: "edit", input: [{ to: "not an address", heading: "Hello" }] })
    expect([bad.status, bad.body.details.fields?.[0]?.path]).to.deep.equal([400, "input.0.to"])
    expect((await decide(id, { decision: "edit" })).body.details.fields?.[0]?.path).to.equal("input")
    const edited = await decide(id, {
      decision: "edit",
      input: [{ to: "ada@example.com", heading: "Hello {{ event.name }}" }],
      note: "Friendlier.",
    })
    expect([edited.status, edited.body.state, edited.body.asked_digest]).to.deep.equal([200, "approved", request.digest])
    expect(edited.body.digest).to.not.equal(request.digest)
    await ended(entry)
    expect(
      mails()
        .slice(before)
        .map(({ subject }) => subject),
    ).to.deep.equal(["Hello {{ event.name }}"])
  })

  it("fail a step that was rejected, and one that nobody decided about", async () => {
    const before = mails().length
    const createdPipeline = await pipeline("Refused", mail())
    const rejected = await sendTo(createdPipeline, { email: "ada@example.com", name: "Ada" })
    await decide(rejected.id, { decision: "reject", note: "Not to her." })
    await ended(rejected.entry)
    const entry = await until("the entry to fail", async () => {
      const item = await rejected.entry()
      return item.status === "failed" && item
    })
    expect(entry.steps["thank"]?.error?.message).to.contain("rejected").and.contain("Not to her.")
    expect([entry.status, entry.cause]).to.deep.equal(["failed", "action_failed"])
    const late = await sendTo(createdPipeline, { email: "ada@example.com", name: "Ada" })
    host.clock.move(8 * dayMs)
    expect((await approval(late.id)).state).to.equal("expired")
    expect((await decide(late.id, { decision: "approve" })).body.details.reason).to.equal("already_decided")
    expect((await ended(late.entry)).steps["thank"]?.error?.message).to.contain("expired")
    expect(mails()).to.have.length(before)
  })

  it("tell in the receipt why an action failed, also by an error that is not one of the service's", async () => {
    const createdPipeline = await pipeline("Broken", mail())
    const { entry, id } = await sendTo(createdPipeline, { email: "ada@example.com", name: "Ada" })
    host.outgoing.onMail = () => {
      throw new TypeError("mails is not iterable")
    }
    await decide(id, { decision: "approve" })
    await ended(entry)
    host.outgoing.onMail = undefined
    const { state, receipt } = await until("the receipt", async () => ((await approval(id)).receipt ? approval(id) : undefined))
    expect([state, receipt?.error]).to.deep.equal(["failed", { code: "unknown", message: "mails is not iterable", reason: "action_error" }])
  })

  it("let through what the organization does not gate, and refuse a gate that does not exist", async () => {
    const unknown = await gates(["email.sent"])
    expect([unknown.status, unknown.body.details.reason]).to.deep.equal([400, "unknown_gate"])
    expect(unknown.body.message).to.contain("email.send")
    expect((await gates([])).body).to.deep.equal({ gates: [], gate_everything: false })
    const before = mails().length
    const { status, body } = await host.send<{ execution_id: string }>(await pipeline("Free", mail()), {
      email: "ada@example.com",
      name: "Ada",
    })
    expect(status, JSON.stringify(body)).to.equal(200)
    await until("the mail", () => mails().length === before + 1)
    const all = await gates(null)
    expect(all.body.gate_everything).to.equal(true)
    expect(all.body.gates).to.include.members(["email.send", "http.request", "notes.write"])
  })

  it("hold a call, and perform it once as a job, with its secret kept from readers", async () => {
    const call = () =>
      host.api<{ status: string; approval_id: string }>(
        "POST",
        "/v1/gated-notes",
        { text: "Hello", api_key: "k-12345678" },
        { headers: { "Idempotency-Key": "note-1" } },
      )
    const first = await call()
    expect(first.body.status).to.equal("pending_approval")
    expect((await call()).body).to.deep.equal(first.body)
    const id = first.body.approval_id
    expect(await approval(id)).to.deep.include({
      what: 'Write the note "Hello".',
      risk: "high",
      input: { text: "Hello", api_key: "[redacted]" },
    })
    expect(
      JSON.stringify(await host.get(Store).open(collectionNamed(host, "approval_requests"), host.organization.id).get(id)),
    ).to.not.contain("k-12345678")
    const own = await decide(id, { decision: "approve" }, host.adminKey)
    expect([own.status, own.body.details.reason]).to.deep.equal([403, "own_request"])
    const [yes, no] = await Promise.all([decide(id, { decision: "approve" }), decide(id, { decision: "reject" })])
    expect([yes.status, no.status].filter((status) => status === 200)).to.have.length(1)
    const end = await until("the end", async () => (["done", "rejected"].includes((await approval(id)).state) ? approval(id) : undefined))
    const notes = await host.get(Store).open(NoteCollection, host.organization.id).find({})
    if (end.state === "done") expect(notes).to.have.length(1).and.to.have.nested.property("0.api_key", "k-12345678")
    else expect(notes).to.have.length(0)
    expect(performed.get("Hello") ?? 0).to.equal(notes.length)
    expect(host.logged.join("")).to.not.contain("k-12345678")
    expect((await host.api<Refusal>("POST", "/v1/gated-notes", { text: "x" })).status).to.equal(400)
  })

  let notes = 0
  for (const path of ["/v1/gated-notes", "/v1/gated-notes/join"])
    it(`are the same for repeats of a call, and others once its Idempotency-Key is free: ${path}`, async () => {
      const call = () => host.api<{ approval_id: string }>("POST", path, { text: "Repeated" }, { headers: { "Idempotency-Key": "note-2" } })
      const count = async () =>
        (await host.get(Store).open(collectionNamed(host, "approval_requests"), host.organization.id).find({})).length
      const before = await count()
      const first = (await call()).body
      expect((await call()).body).to.deep.equal(first)
      expect(await count()).to.equal(before + 1)
      await decide(first.approval_id, { decision: "reject" })
      expect((await call()).body).to.deep.equal(first)
      host.clock.move(dayMs + 60_000)
      const later = await until("an answer of its own", async () => {
        const { status, body } = await call()
        return status === 200 && body.approval_id !== first.approval_id && body
      })
      expect((await approval(later.approval_id)).state).to.equal("pending")
      expect((await approval(first.approval_id)).state).to.equal("rejected")
      // After a move of the clock the service may be briefly unavailable. A job tried in that time is tried once more.
      expect((await patiently(() => decide(later.approval_id, { decision: "approve" }))).status).to.equal(200)
      const noteCount = async () => (await host.get(Store).open(NoteCollection, host.organization.id).find({ text: "Repeated" })).length
      await until("the note", async () => (await noteCount()) === notes + 1)
      notes++
      performed.delete("Repeated")
    })

  it("are edited with what was hidden left in its place, and nowhere else", async () => {
    const request = { text: "Edited in part", api_key: "k-12345678" }
    const id = (await host.api<{ approval_id: string }>("POST", "/v1/gated-notes", request)).body.approval_id
    const resource = { text: "Edited in part", api_key: "[redacted]" }
    expect((await approval(id)).input).to.deep.equal(resource)
    for (const [input, path] of [
      [{ ...resource, text: "[redacted]" }, "input.text"],
      [{ ...resource, text: "Edited [redacted]" }, "input.text"],
      [{ ...resource, constructor: "[redacted]" }, "input.constructor"],
      [{ ...resource, text: [{ api_key: "[redacted]" }] }, "input.text.0.api_key"],
    ] as const) {
      const { status, body } = await decide(id, { decision: "edit", input })
      expect([status, body.message]).to.deep.equal([
        400,
        `${path} is not as it was shown, and holds [redacted]; give the whole value, or leave it as it was shown.`,
      ])
    }
    expect((await decide(id, { decision: "edit", input: resource })).status).to.equal(200)
    const text = request.text
    await until("the note", async () => (await host.get(Store).open(NoteCollection, host.organization.id).find({ text })).length === 1)
    performed.delete(text)
  })

  it("cannot be edited where no plugin declares what waits", async () => {
    const approvalId = (await host.api<{ approval_id: string }>("POST", "/v1/gated-notes", { text: "Left alone" })).body.approval_id
    const { entry, id } = await sendTo(await pipeline("Gone", mail()), { email: "ada@example.com", name: "Ada" })
    // The state after the plugins are no longer loaded.
    await host.get(UnitsOfWork).run((work) => {
      const approvals = work.in(collectionNamed(host, "approval_requests"), host.organization.id)
      approvals.update(approvalId, { $set: { "subject.name": "gone_notes.write" } })
      approvals.update(id, { $set: { gate: "gone.send" } })
    })
    for (const [value, input, label] of [
      [approvalId, { text: "Changed" }, "the operation gone_notes.write"],
      [id, [{ to: "ada@example.com", heading: "Changed" }], "the action gone.send"],
    ] as const) {
      const { status, body } = await decide(value, { decision: "edit", input })
      expect([status, body.details.reason]).to.deep.equal([400, "subject_gone"])
      expect(body.message).to.contain(label)
      expect((await approval(value)).state).to.equal("pending")
      expect((await decide(value, { decision: "reject" })).body.state).to.equal("rejected")
    }
    await ended(entry)
  })

  it("are not carried out where what is kept was changed", async () => {
    const { entry, id } = await sendTo(await pipeline("Changed", mail()), { email: "ada@example.com", name: "Ada" })
    const before = mails().length
    await host.get(UnitsOfWork).run((work) => {
      const $set = { input: [{ to: "eve@example.com", heading: "Hello" }] }
      work.in(collectionNamed(host, "approval_requests"), host.organization.id).update(id, { $set })
    })
    await decide(id, { decision: "approve" })
    const damaged = await until("the refusal", () => host.logged.find((line) => line.includes("approval_damaged")))
    expect(damaged).to.contain(id)
    expect((await entry()).steps["thank"]?.state).to.not.equal("done")
    expect(mails()).to.have.length(before)
  })

  it("are nobody else's: another organization finds none, a member cannot decide, an agent has no tool to", async () => {
    const { body } = await host.api<{ approval_id: string }>("POST", "/v1/gated-notes", { text: "Hello again" })
    const id = body.approval_id
    const other = await host.get(UnitsOfWork).run((work) => {
      const organizations = host.get(Organizations)
      const organization = organizations.create(work, { name: "Other", slug: "other" })
      return host.get(ApiKeys).mint(work, organization.id, { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null }).text
    })
    const elsewhere = await decide(id, { decision: "approve" }, other)
    expect([elsewhere.status, elsewhere.body.details.reason]).to.deep.equal([404, "approval_not_found"])
    const member = (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "member", role: "member" })).body.secret
    expect((await decide(id, { decision: "approve" }, member)).status).to.equal(403)
    expect((await approval(id)).state).to.equal("pending")
  })

  it("are removed with what they held, 30 days after the time for a decision", async () => {
    const write = async () => (await host.api<{ approval_id: string }>("POST", "/v1/gated-notes", { text: "Personal" })).body.approval_id
    const [id, removed] = [await write(), await write()]
    // MongoDB's expiry removes it if no node ran for that long.
    await host.get(UnitsOfWork).run((work) => work.in(collectionNamed(host, "approval_requests"), host.organization.id).remove(removed))
    await decide(id, { decision: "reject" })
    const status = async () => (await host.api("GET", `/v1/approvals/${id}`)).status
    host.clock.move(36 * dayMs)
    expect((await approval(id)).state).to.equal("rejected")
    host.clock.move(2 * dayMs)
    await until("the approval being removed", async () => (await status()) === 404)
    expect((await host.api("GET", "/v1/approvals")).body).to.deep.equal({ approvals: [], next_cursor: "" })
    await until("no job waiting for what was removed", async () => (await host.get(Store).open(JobCollection).count(expireJobs)) === 0)
  })
})
