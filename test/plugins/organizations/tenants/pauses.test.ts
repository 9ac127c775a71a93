// Archived and suspended organizations: their calls, events, jobs and schedules during and after the pause.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { io } from "socket.io-client"
import { z } from "zod"
import { defineJob, definePlugin, JobQueue, Scheduler, timestamp, UnitsOfWork } from "#core"
import { JobCollection, type Role, StagedWork } from "#core/engine"
import type { TestHost } from "#core/testing"
import { Routes } from "../../../../core/contract/route.ts"
import { Store } from "../../../../core/contract/store.ts"
import { parkedAt } from "../../../../core/jobs/paused-jobs.ts"
import { ScheduleCollection } from "../../../../core/jobs/schedules.ts"
import { Mailer } from "../../../../plugins/people/email/index.ts"
import { UserSessions } from "../../../../plugins/platform/identity/index.ts"
import { ApiKeys, Organizations } from "../../../../plugins/platform/organizations/index.ts"
import { onBothStores, onStoresInTurn } from "../../../pipeline/stores.ts"
import { rivalOf } from "../../../rival-commits.ts"
import { patiently, until } from "../../../waiting.ts"

interface Answer {
  readonly id: string
  readonly slug: string
  readonly secret: string
  readonly archived_at: string | null
  readonly suspended_at: string | null
  readonly suspension_note: string | null
  readonly organizations: readonly { readonly slug: string }[]
  readonly inbound_url: string
  readonly executions: readonly unknown[]
  readonly details: { readonly reason?: string }
}
type Outcome = { readonly status: number; readonly body: Answer }

/** Retries after a 503: a node that lost its lease by a move of the clock answers 503 once. */
const api = (host: TestHost, key: string, method: string, path: string, body?: unknown): Promise<Outcome> =>
  patiently(() => host.api<Answer>(method, path, body, { key }))
const outcome = ({ status, body }: Outcome) => [status, body.details?.reason]

/** Creates an organization with an owner's key. */
async function foundOrganization(host: TestHost, name: string) {
  const { body } = await host.api<Answer>("POST", "/v1/organizations", { name, first_key: true })
  return { id: body.id, slug: body.slug, key: body.secret }
}
function serviceKey(host: TestHost, organization: string, role: Role, manager = false) {
  const keyOptions = { name: "s", kind: "api_key", role, scopes: null, user: null, manager } as const
  return host.get(UnitsOfWork).run((work) => host.get(ApiKeys).mint(work, organization, keyOptions).text)
}
/** Makes the user of the admin key staff. */
async function becomeStaff(host: TestHost) {
  const { body } = await host.api<{ user: { id: string } }>("GET", "/v1/me")
  await host.api("PUT", `/v1/members/${body.user.id}/staff`, { staff: true })
}
const suspend = (host: TestHost, organization: string, note?: string) =>
  host.api<Answer>("POST", `/v1/organizations/${organization}/suspend`, { ...(note === undefined ? {} : { note }) })
const resume = (host: TestHost, organization: string) => host.api<Answer>("POST", `/v1/organizations/${organization}/resume`, {})

const intake = { name: "Intake", state: "active", auth_mode: "none", pipeline: [{ type: "respond", status: 201, body: {} }] }
const send = async ({ inbound_url }: { readonly inbound_url: string }) => {
  const response = await fetch(inbound_url, { method: "POST", body: "{}", headers: { "content-type": "application/json" } })
  return [response.status, ((await response.json()) as { details?: { reason?: string } }).details?.reason]
}

/** Records each run of a job. */
function noting() {
  const ran: string[] = []
  const job = defineJob({
    type: "sample.mark",
    summary: "Notes that it ran.",
    payload: z.strictObject({ note: z.string() }),
    run: async ({ payload }) => void ran.push(payload.note),
  })
  const plugin = definePlugin({ id: "sample-marks", config: z.strictObject({}), register: (reg) => reg.jobs(job) })
  return { ran, job, plugin }
}

onStoresInTurn("an archived organization", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start({ capture: true })
  })

  it("is read-only, and accepts events again after its restore", async () => {
    const { key, slug } = await foundOrganization(host, "Archive me")
    const { body: pipeline } = await api(host, key, "POST", "/v1/event-pipelines", intake)
    expect(await send(pipeline)).to.deep.equal([201, undefined])
    const archived = await api(host, key, "POST", "/v1/organization/archive", {})
    expect(archived.status).to.equal(200)
    expect(archived.body.archived_at).to.be.a("string")
    const refused = [403, "organization_archived"]
    expect(outcome(await api(host, key, "POST", "/v1/datasets", { name: "Leads" }))).to.deep.equal(refused)
    expect(outcome(await api(host, key, "PATCH", "/v1/organization", { name: "Other" }))).to.deep.equal(refused)
    expect(outcome(await api(host, key, "POST", "/v1/event-pipelines/intake/events", { payload: {} }))).to.deep.equal(refused)
    expect(await send(pipeline)).to.deep.equal(refused)
    expect((await api(host, key, "GET", "/v1/organization")).body).to.include({ slug, archived_at: archived.body.archived_at })
    // The refused events left no entry.
    const entries = await api(host, key, "GET", "/v1/event-pipelines/intake/executions")
    expect([entries.status, entries.body.executions.length]).to.deep.equal([200, 1])
    expect((await api(host, key, "POST", "/v1/organization/archive", {})).body.archived_at).to.equal(archived.body.archived_at)
    expect((await api(host, key, "POST", "/v1/organization/restore", {})).body.archived_at).to.equal(null)
    expect(await send(pipeline)).to.deep.equal([201, undefined])
    expect((await api(host, key, "POST", "/v1/datasets", { name: "Leads" })).status).to.equal(200)
  })

  it("is hidden from lists unless they ask for it", async () => {
    const { key, slug } = await foundOrganization(host, "Hide me")
    await api(host, key, "POST", "/v1/organization/archive", {})
    const slugs = async (query: string) =>
      (await api(host, key, "GET", `/v1/organizations${query}`)).body.organizations.map((organization) => organization.slug)
    expect([await slugs(""), await slugs("?include_archived=true")]).to.deep.equal([[], [slug]])
  })

  it("is read by MCP and written by no tool", async () => {
    const { key } = await foundOrganization(host, "By tool")
    await api(host, key, "POST", "/v1/organization/archive", {})
    const call = async (name: string, args: object) => {
      const response = await fetch(`${host.url}/mcp`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
      })
      return await response.text()
    }
    expect(await call("datasets_create", { name: "Leads" })).to.include("organization_archived")
    expect(await call("datasets_list", {})).not.to.include("organization_archived")
  })

  it("loses its sockets, and opens no other", async () => {
    const { key } = await foundOrganization(host, "Live")
    const socket = () =>
      io(host.url, { path: "/live", auth: { token: key }, reconnection: false, forceNew: true, transports: ["websocket"] })
    const open = socket()
    await new Promise<void>((resolve, reject) => open.once("connect", resolve).once("connect_error", reject))
    const disconnected = new Promise<void>((resolve) => open.once("disconnect", () => resolve()))
    await api(host, key, "POST", "/v1/organization/archive", {})
    await disconnected
    const second = socket()
    const refusal = await new Promise<{ data?: { details?: { reason?: string } } }>((resolve) =>
      second.once("connect_error", (error) => resolve(error as never)),
    )
    expect(refusal.data?.details?.reason).to.equal("organization_archived")
    open.close()
    second.close()
  })

  it("serves no page and accepts no upload, while its opt-out links work", async () => {
    const { id, key, slug } = await foundOrganization(host, "Links")
    await api(host, key, "POST", "/v1/pages", { title: "Home", variants: [{ key: "a", html: "<p>Hello</p>" }] })
    await api(host, key, "POST", "/v1/pages/home/publish")
    const { body: upload } = await host.api<{ upload_url: string }>("POST", "/v1/knowledge-uploads", {}, { key })
    const mail = {
      category: "marketing",
      to: "ada@example.com",
      heading: "News",
      idempotencyKey: "1",
      at: "2026-01-02T03:04:05.006Z",
    } as const
    await host.get(Mailer).send({ organization: id, ...mail })
    const link = /\/v1\/unsubscribe\/[\w-]+/.exec(host.mails.at(-1)?.text ?? "")?.[0] ?? expect.fail("no link")
    const page = () => fetch(`${host.url}/p/${slug}/home`)
    expect((await page()).status).to.equal(200)
    await api(host, key, "POST", "/v1/organization/archive", {})
    expect((await page()).status).to.equal(403)
    expect((await fetch(upload.upload_url, { method: "PUT", body: "text" })).status).to.equal(403)
    expect((await fetch(host.url + link)).status).to.equal(200)
    expect((await fetch(host.url + link, { method: "POST", body: "List-Unsubscribe=One-Click" })).status).to.equal(200)
    const { body } = await host.api<{ suppressions: object[] }>("GET", "/v1/suppressions?address=ada@example.com", undefined, { key })
    expect(body.suppressions).to.have.length(1)
  })

  it("is archived by its owners alone, and never the service's own", async () => {
    const { id, slug, key } = await foundOrganization(host, "Guarded")
    const admin = await serviceKey(host, id, "admin")
    expect(outcome(await api(host, admin, "POST", "/v1/organization/archive", {}))).to.deep.equal([403, "role_too_low"])
    const stranger = await host.get(UnitsOfWork).run((work) => {
      const organizations = host.get(Organizations)
      const user = organizations.addUser(work, { email: "stranger@example.com" }).id
      const other = organizations.create(work, { name: "Other" })
      organizations.addMember(work, other.id, user, "owner")
      const keyOptions = { name: "k", kind: "api_key", role: "owner", scopes: null, user } as const
      const input = { user, organization: other.id, method: "email_code", device: "", address: "" } as const
      const session = host.get(UserSessions).open(work, input).text
      return { key: host.get(ApiKeys).mint(work, other.id, keyOptions).text, session }
    })
    for (const organization of [slug, id, "nowhere"]) {
      const archive = (by: string) => api(host, by, "POST", "/v1/organization/archive", { organization })
      expect(outcome(await archive(stranger.session))).to.deep.equal([404, "organization_not_accessible"])
      expect(outcome(await archive(stranger.key))).to.deep.equal([403, "not_a_person"])
    }
    expect(outcome(await host.api<Answer>("POST", "/v1/organization/archive", {}))).to.deep.equal([400, "service_organization"])
    expect((await api(host, key, "GET", "/v1/organization")).body.archived_at).to.equal(null)
  })

  it("does not act in the organizations that it manages", async () => {
    const [agency, shop] = [await foundOrganization(host, "Agency"), await foundOrganization(host, "Shop")]
    const invitation = { role: "admin" }
    const { code } = (await host.api<{ code: string }>("POST", "/v1/managed-organization-invitations", invitation, { key: agency.key }))
      .body
    await host.api("POST", "/v1/managed-organizations-accept", { code }, { key: shop.key })
    const manager = await serviceKey(host, agency.id, "admin", true)
    const write = (name: string) =>
      host.api<Answer>("POST", "/v1/datasets", { name }, { key: manager, headers: { "x-organization-id": shop.slug } })
    expect((await write("Before")).status).to.equal(200)
    await api(host, agency.key, "POST", "/v1/organization/archive", {})
    expect(outcome(await write("Meanwhile"))).to.deep.equal([403, "organization_archived"])
    await api(host, agency.key, "POST", "/v1/organization/restore", {})
    expect((await write("After")).status).to.equal(200)
  })

  it("is declared for every route", () => {
    const silent = host.runtime.registry
      .items(Routes)
      .filter(({ path, whilePaused }) => !path.includes("{organization}") && whilePaused === undefined)
    expect(silent.map(({ name }) => name)).to.deep.equal([])
  })
})

onStoresInTurn("a suspended organization", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start()
    await becomeStaff(host)
  })

  it("accepts no event and no call, but its admins read", async () => {
    const { id, slug, key } = await foundOrganization(host, "Suspend me")
    const { body: pipeline } = await api(host, key, "POST", "/v1/event-pipelines", intake)
    const suspended = await suspend(host, slug, "Unpaid.")
    expect(suspended.body).to.include({ id, suspension_note: "Unpaid." })
    const refused = [403, "organization_suspended"]
    expect(await send(pipeline)).to.deep.equal(refused)
    expect(outcome(await api(host, key, "POST", "/v1/datasets", { name: "Leads" }))).to.deep.equal(refused)
    expect(outcome(await api(host, key, "POST", "/v1/organization/archive", {}))).to.deep.equal(refused)
    expect((await api(host, key, "GET", "/v1/event-pipelines")).status).to.equal(200)
    expect((await api(host, key, "GET", "/v1/organization")).body.suspended_at).to.equal(suspended.body.suspended_at)
    for (const role of ["guest", "member"] as const) {
      const low = await serviceKey(host, id, role)
      expect(outcome(await api(host, low, "GET", "/v1/event-pipelines"))).to.deep.equal(refused)
      expect((await api(host, low, "GET", "/v1/me")).status).to.equal(200)
    }
    expect((await resume(host, id)).body).to.include({ suspended_at: null, suspension_note: null })
    expect(await send(pipeline)).to.deep.equal([201, undefined])
  })

  it("is suspended and resumed by staff alone, and never the service's own", async () => {
    const { slug, key } = await foundOrganization(host, "Not by itself")
    const admin = await serviceKey(host, host.organization.id, "owner")
    for (const verb of ["suspend", "resume"])
      expect(outcome(await api(host, admin, "POST", `/v1/organizations/${slug}/${verb}`, {}))).to.deep.equal([403, "staff_only"])
    expect(outcome(await suspend(host, "default"))).to.deep.equal([400, "service_organization"])
    expect(outcome(await suspend(host, "nowhere"))).to.deep.equal([404, "organization_not_accessible"])
    expect((await api(host, key, "GET", "/v1/organization")).body.suspended_at).to.equal(null)
  })

  it("stays archived after its resume, if an owner archived it", async () => {
    const { slug, key } = await foundOrganization(host, "Both")
    await api(host, key, "POST", "/v1/organization/archive", {})
    await suspend(host, slug)
    expect(outcome(await api(host, key, "POST", "/v1/organization/restore", {}))).to.deep.equal([403, "organization_suspended"])
    await resume(host, slug)
    expect(outcome(await api(host, key, "POST", "/v1/datasets", { name: "X" }))).to.deep.equal([403, "organization_archived"])
    expect((await api(host, key, "POST", "/v1/organization/restore", {})).status).to.equal(200)
  })
})

onBothStores("jobs of a paused organization", ({ start, storage }) => {
  it("wait, and each runs once after the restore", async () => {
    const { ran, job, plugin } = noting()
    const host = await start({ plugins: [plugin] })
    const [paused, other] = [await foundOrganization(host, "Paused"), await foundOrganization(host, "Other")]
    const enqueue = (organization: string, note: string, runAt: number) =>
      host.get(UnitsOfWork).run((work) => void host.get(JobQueue).enqueue(work, job, { note }, { organization, runAt }))
    const due = host.clock.now() + 60_000
    await enqueue(paused.id, "before", due)
    await api(host, paused.key, "POST", "/v1/organization/archive", {})
    await enqueue(paused.id, "during", host.clock.now())
    await enqueue(paused.id, "later", due)
    await enqueue(other.id, "other", due)
    host.clock.move(120_000)
    await until("the other organization's job", () => ran.includes("other"))
    await until("the park of each job", async () => {
      const parked = await host.get(Store).open(JobCollection).find({ parked_for: paused.id })
      return parked.length === 3
    })
    expect(ran).to.deep.equal(["other"])
    await api(host, paused.key, "POST", "/v1/organization/restore", {})
    await until("every job", () => ran.length === 4)
    expect(ran.slice(1).sort()).to.deep.equal(["before", "during", "later"])
  })

  it("run if the restore comes during the commit of their parking", async () => {
    const { ran, job, plugin } = noting()
    const host = await start({ plugins: [plugin] })
    const paused = await foundOrganization(host, "Paused")
    await api(host, paused.key, "POST", "/v1/organization/archive", {})
    const rival = rivalOf(host, "jobs", 1, {
      only: (write) => write.kind === "update" && JSON.stringify(write.update).includes("parked_for"),
      faster: () => api(host, paused.key, "POST", "/v1/organization/restore", {}),
    })
    await host.get(UnitsOfWork).run((work) => void host.get(JobQueue).enqueue(work, job, { note: "parked" }, { organization: paused.id }))
    await until("the job", () => ran.length === 1)
    expect(rival.met).to.equal(1)
    rival.stop()
  })

  it("are one late run for each schedule", async () => {
    const { ran, job, plugin } = noting()
    const host = await start({ plugins: [plugin] })
    const [paused, other] = [await foundOrganization(host, "Paused"), await foundOrganization(host, "Other")]
    const timing = { cron: "*/10 * * * *" }
    await host.get(UnitsOfWork).run((work) => {
      for (const [organization, note] of [
        [paused.id, "paused"],
        [other.id, "other"],
      ] as const)
        host.get(Scheduler).set(work, { id: note, job, payload: { note }, organization, ...timing })
    })
    await api(host, paused.key, "POST", "/v1/organization/archive", {})
    for (let slot = 1; slot <= 3; slot++) {
      host.clock.move(host.get(Scheduler).next(timing).getTime() - host.clock.now() + 1)
      await until("the other organization's run", () => ran.filter((note) => note === "other").length === slot)
    }
    await until("the move of each schedule", async () => {
      const due = { next_at: { $lte: timestamp(host.clock.now()) } }
      return (await host.get(Store).open(ScheduleCollection).count(due)) === 0
    })
    expect(ran).not.to.include("paused")
    await api(host, paused.key, "POST", "/v1/organization/restore", {})
    await until("the late run", () => ran.includes("paused"))
    host.clock.move(host.get(Scheduler).next(timing).getTime() - host.clock.now() + 1)
    await until(
      "the next run",
      () => ran.filter((note) => note === "other").length === 4 && ran.filter((note) => note === "paused").length === 2,
    )
  })

  it("wait across a restart, and run after a restore that no node finished", async () => {
    const { ran, job, plugin } = noting()
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-paused-"))
    const env = await storage()
    const first = await start({ plugins: [plugin], dataDir, env })
    const [paused, active] = [await foundOrganization(first, "Paused"), await foundOrganization(first, "Active")]
    await api(first, paused.key, "POST", "/v1/organization/archive", {})
    await first.get(UnitsOfWork).run((work) => {
      for (const { id, slug } of [paused, active])
        first.get(JobQueue).enqueue(work, job, { note: slug }, { organization: id, id, runAt: first.clock.now() + 3_600_000 })
    })
    // The state after a node died between a restore and the jobs.
    const departed = new StagedWork("left")
    departed.in(JobCollection).update(active.id, { $set: { parked_for: active.id, run_at: parkedAt } })
    await first.get(Store).commit(departed.commit)
    await first.stop()
    const second = await start({ plugins: [plugin], dataDir, env })
    await until("the job that was left", () => ran.includes("active"))
    second.clock.move(3_700_000)
    await until("the park", async () => (await second.get(Store).open(JobCollection).find({ parked_for: paused.id })).length === 1)
    expect(ran).to.deep.equal(["active"])
    await api(second, paused.key, "POST", "/v1/organization/restore", {})
    await until("the job that waited", () => ran.includes("paused"))
    rmSync(dataDir, { recursive: true, force: true })
  })
})
