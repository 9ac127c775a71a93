// Jobs behind a gate: they wait for a person and run once, as approved.
import { expect } from "chai"
import { Scheduler, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { JobCollection } from "../../../core/jobs/jobs-collection.ts"
import { until } from "../../waiting.ts"
import {
  type Approval,
  approval,
  enqueue,
  gatedReports,
  reportCount,
  reports,
  secondAdmin,
  sendReport,
  waitsFor,
  whenRemoved,
} from "./gated-reports.ts"

interface Refusal {
  readonly details: { reason?: string; fields?: { path: string }[] }
}

describe("jobs behind a gate", () => {
  let host: TestHost
  let key: string
  before(async () => {
    host = await testHost({ plugins: [gatedReports], env: { MILLRACE_JOBS_POLL_MS: "20" } })
    key = await secondAdmin(host)
  })
  afterEach(() => {
    reports.before = () => {}
    reports.refused.length = 0
  })
  after(() => host.stop())
  const decide = (id: string, body: object) => host.api<Approval & Refusal>("POST", `/v1/approvals/${id}/decide`, body, { key })
  const ended = (id: string) =>
    until("the receipt", async () => {
      const item = await approval(host, id)
      return item.receipt ? item : undefined
    })

  it("are among the gates, with what they cover", async () => {
    const { body } = await host.api<{ known: { name: string; jobs: string[] }[] }>("GET", "/v1/autonomy-gates")
    expect(body.known.find(({ name }) => name === "reports.send")).to.deep.include({
      risk: "high",
      jobs: ["reports.send"],
      operations: [],
      actions: [],
      holds: true,
    })
  })

  it("wait, and run once with exactly what was approved", async () => {
    const id = await enqueue(host, { to: "ada@example.com", api_key: "k-12345678" })
    const waits = await waitsFor(host, "ada@example.com")
    expect(waits).to.deep.include({
      subject: { kind: "job", name: "reports.send" },
      what: "Send the report to ada@example.com.",
      risk: "high",
      input: { to: "ada@example.com", api_key: "[redacted]" },
    })
    // A later change of the queued payload has no effect.
    await host.get(UnitsOfWork).run((work) => {
      work.in(JobCollection).update(id, { $set: { payload: { to: "eve@example.com" } } })
    })
    expect((await decide(waits.id, { decision: "approve", digest: waits.digest })).status).to.equal(200)
    const end = await ended(waits.id)
    expect([end.state, end.receipt?.ok, end.receipt?.digest]).to.deep.equal(["done", true, waits.digest])
    expect(await reportCount(host)).to.deep.equal([
      { id, organization_id: host.organization.id, to: "ada@example.com", api_key: "k-12345678" },
    ])
    await whenRemoved(host, id)
  })

  it("are edited by the payload's schema", async () => {
    await enqueue(host, { to: "bob@example.com" })
    const { id } = await waitsFor(host, "bob@example.com")
    const bad = await decide(id, { decision: "edit", input: { to: "nobody" } })
    expect([bad.status, bad.body.details.fields?.[0]?.path]).to.deep.equal([400, "input.to"])
    expect((await decide(id, { decision: "edit", input: { to: "carol@example.com" } })).status).to.equal(200)
    expect((await ended(id)).state).to.equal("done")
    expect((await reportCount(host)).map(({ to }) => to))
      .to.include("carol@example.com")
      .and.not.include("bob@example.com")
  })

  it("end without a run where they were rejected, or nobody decided", async () => {
    const before = (await reportCount(host)).length
    const rejected = await enqueue(host, { to: "dan@example.com" })
    await decide((await waitsFor(host, "dan@example.com")).id, { decision: "reject", note: "Not now." })
    await whenRemoved(host, rejected)
    const late = await enqueue(host, { to: "late@example.com" })
    const { id } = await waitsFor(host, "late@example.com")
    host.clock.move(8 * 86_400_000)
    await whenRemoved(host, late)
    await until("the approval to be expired", async () => (await approval(host, id)).state === "expired")
    expect(reports.refused).to.deep.equal(["approval_rejected", "approval_expired"])
    expect(await reportCount(host)).to.have.length(before)
  })

  it("keep why they failed, and are retried under the same approval", async () => {
    reports.before = () => {
      throw new Error("The printer is out of paper.")
    }
    const job = await enqueue(host, { to: "fay@example.com" })
    const { id } = await waitsFor(host, "fay@example.com")
    await decide(id, { decision: "approve" })
    const failed = await ended(id)
    expect([failed.state, failed.receipt?.error?.message]).to.deep.equal(["failed", "The printer is out of paper."])
    reports.before = () => {}
    expect((await host.api("POST", `/v1/jobs/${job}/retry`, {})).status).to.equal(200)
    await until("the report", async () => (await approval(host, id)).state === "done")
    await whenRemoved(host, job)
    expect((await reportCount(host)).filter(({ to }) => to === "fay@example.com")).to.have.length(1)
  })

  it("may not be decided by who asked", async () => {
    const { credential } = (await host.api<{ credential: { id: string } }>("GET", "/v1/me")).body
    await enqueue(host, { to: "own@example.com" }, { requester: { credential_id: credential.id, user_id: null, surface: "rest" } })
    const { id } = await waitsFor(host, "own@example.com")
    const own = await host.api<Refusal>("POST", `/v1/approvals/${id}/decide`, { decision: "approve" })
    expect([own.status, own.body.details.reason]).to.deep.equal([403, "own_request"])
    await decide(id, { decision: "reject" })
  })

  it("end without a run where the key that asked was revoked", async () => {
    const { id: credential_id } = (await host.api<{ id: string }>("POST", "/v1/api-keys", { name: "agent" })).body
    const job = await enqueue(host, { to: "revoked@example.com" }, { requester: { credential_id, user_id: null, surface: "mcp" } })
    const { id } = await waitsFor(host, "revoked@example.com")
    await host.api("POST", `/v1/api-keys/${credential_id}/revoke`, {})
    await decide(id, { decision: "approve" })
    expect((await ended(id)).state).to.equal("failed")
    await whenRemoved(host, job)
    expect(reports.refused).to.include("requester_revoked")
    expect((await reportCount(host)).some(({ to }) => to === "revoked@example.com")).to.equal(false)
  })

  it("wait each time where they are scheduled, and are for an organization", async () => {
    const timing = { cron: "0 9 * * *" }
    const payload = { to: "daily@example.com" }
    const schedule = { id: "daily", job: sendReport, payload, ...timing }
    const set = (more: object) => host.get(UnitsOfWork).run((work) => host.get(Scheduler).set(work, { ...schedule, ...more }))
    for (const act of [() => set({}), () => enqueue(host, payload, { organization: undefined })])
      expect(await act().catch((error: Error) => error.message)).to.match(/reports\.send has a gate, and nobody to ask/)
    await set({ organization: host.organization.id })
    host.clock.move(host.get(Scheduler).next(timing).getTime() - host.clock.now() + 1)
    await decide((await waitsFor(host, "daily@example.com")).id, { decision: "approve" })
    await until("the report", async () => (await reportCount(host)).some(({ to }) => to === "daily@example.com"))
    host.clock.move(host.get(Scheduler).next(timing).getTime() - host.clock.now() + 1)
    await decide((await waitsFor(host, "daily@example.com")).id, { decision: "reject" })
  })

  it("run at once where the organization does not ask", async () => {
    await host.api("PUT", "/v1/autonomy-gates", { gates: [] })
    await enqueue(host, { to: "free@example.com" })
    await until("the report", async () => (await reportCount(host)).some(({ to }) => to === "free@example.com"))
  })
})
