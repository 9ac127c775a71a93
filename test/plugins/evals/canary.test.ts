// The widget canary: access, its unconfigured state, and alarms for a failed, unfinished or late check.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { dueOf, verdictNow } from "../../../plugins/agents/evals/canary/canary.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { until } from "../../waiting.ts"

interface Shown {
  readonly configured: boolean
  readonly verdict: string | null
  readonly reason: string
  readonly last_check_at: string
  readonly age_s: number | null
}

interface Refusal {
  readonly details: { readonly reason?: string; readonly fields?: { readonly path: string }[] }
}

const unconfigured = {
  ...{ configured: false, widget: "", widget_name: "", selector: "", interval_minutes: 0 },
  ...{ verdict: null, reason: "", last_check_at: "", age_s: null },
}
const widget = { widget: "https://www.example.com/", widget_name: "Chat", selector: "#chat" }

describe("the widget canary", () => {
  let host: TestHost
  let staff = ""
  before(async () => {
    const settings = { screenshots: { executable: "/nowhere/chromium" } }
    host = await testHost({ env: { MILLRACE_JOBS_POLL_MS: "50", MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
    staff = (await member(host.organization.id, "staff@example.com", true)).key
  })
  after(() => host.stop())

  const member = (organization: string, email: string, isStaff: boolean) =>
    host.get(UnitsOfWork).run((work) => {
      const user = host.get(Organizations).addUser(work, { email, staff: isStaff })
      host.get(Organizations).addMember(work, organization, user.id, "member")
      const keyOptions = { name: "Key", kind: "api_key", role: "member", scopes: null, manager: false, user: user.id } as const
      return { id: user.id, key: host.get(ApiKeys).mint(work, organization, keyOptions).text }
    })
  const read = (key = staff) => host.api<Shown & Refusal>("GET", "/v1/evals/widget-canary", undefined, { key })
  const configure = (body: object, key = staff) => host.api<Shown & Refusal>("PATCH", "/v1/evals/widget-canary", body, { key })
  const alarms = async () =>
    (await host.broadcasts("evals"))
      .filter(({ event }) => event === "widget_canary_alarm")
      .map(({ data }) => data as { verdict: string; reason: string })

  it("is for staff alone, with any role elsewhere, and for nobody without a user", async () => {
    const { key } = await member(host.organization.id, "colleague@example.com", false)
    const service = await host.get(UnitsOfWork).run((work) => {
      const keyOptions = { name: "Service", kind: "api_key", role: "owner", scopes: null, manager: false, user: null } as const
      return host.get(ApiKeys).mint(work, host.organization.id, keyOptions).text
    })
    for (const other of [key, service, host.adminKey]) {
      const [response, changed] = [await read(other), await configure(widget, other)]
      expect([response.status, response.body.details.reason]).to.deep.equal([403, "staff_only"])
      expect([changed.status, changed.body.details.reason]).to.deep.equal([403, "staff_only"])
    }
    expect((await read()).body).to.deep.equal(unconfigured)
  })

  it("answers empty strings where none is configured, and reading starts nothing", async () => {
    expect((await read()).body).to.deep.equal(unconfigured)
    await host.clock.move(120_000)
    expect((await read()).body).to.deep.equal(unconfigured)
    expect(await alarms()).to.deep.equal([])
    const incomplete = await configure({ widget: "https://www.example.com/" })
    expect([incomplete.status, incomplete.body.details.reason]).to.deep.equal([400, "widget_incomplete"])
    expect(incomplete.body.details.fields?.map(({ path }) => path)).to.deep.equal(["widget_name", "selector"])
    expect((await configure({ ...widget, widget: "javascript:alert(1)" })).status).to.equal(400)
  })

  it("alarms where the check cannot be made, is the organization's own, and ends with an empty widget", async () => {
    expect((await configure(widget)).body).to.deep.include({
      configured: true,
      ...widget,
      interval_minutes: 15,
      verdict: null,
      age_s: null,
    })
    const other = await host.get(UnitsOfWork).run((work) => host.get(Organizations).create(work, { name: "Other", slug: "other" }))
    expect((await read((await member(other.id, "elsewhere@example.com", true)).key)).body).to.deep.equal(unconfigured)
    // One move only: a check in progress during a further move would count as unfinished.
    host.clock.move(60_000)
    await until("the check having failed", async () => (await read()).body.verdict === "failed")
    const { body } = await read()
    expect(body.last_check_at).to.match(/^\d{4}-.*Z$/)
    expect(body.age_s).to.be.a("number")
    const alarm = await until("the alarm", async () => (await alarms())[0])
    expect(alarm).to.include({ verdict: "failed", reason: body.reason, widget_name: "Chat" })
    await until("word of it", () => host.logged.some((line) => line.includes("a widget canary raised an alarm")))
    expect((await configure({ widget: "" })).body).to.deep.equal(unconfigured)
    const before = (await alarms()).length
    await host.clock.move(1_800_000)
    expect((await read()).body).to.deep.equal(unconfigured)
    expect(await alarms()).to.have.length(before)
  })

  it("counts silence as a failure: a check that does not end, and one that does not begin", () => {
    const at = (minute: number) => new Date(minute * 60_000).toISOString()
    const idle = { running_since: null, last_started_at: at(0), interval_minutes: 15 }
    const due = (minute: number, canary: Parameters<typeof dueOf>[0] = idle) => dueOf(canary, minute * 60_000)
    expect(due(14)).to.deep.equal({ alarm: undefined, starts: false })
    expect(due(15)).to.deep.equal({ alarm: undefined, starts: true })
    expect(due(20)).to.deep.equal({ alarm: undefined, starts: true })
    expect(due(21)).to.deep.equal({ alarm: "late", starts: true })
    const running = { ...idle, last_started_at: at(15), running_since: at(15) }
    expect(due(20, running)).to.deep.equal({ alarm: undefined, starts: false })
    expect(due(21, running)).to.deep.equal({ alarm: "unfinished", starts: true })
    // Readers see it even if the canary no longer runs.
    expect(verdictNow({ ...idle, verdict: "passed" }, 14 * 60_000)).to.equal("passed")
    expect(verdictNow({ ...idle, verdict: "passed" }, 60 * 60_000)).to.equal("late")
    expect(verdictNow({ ...running, verdict: "passed" }, 60 * 60_000)).to.equal("unfinished")
  })
})
