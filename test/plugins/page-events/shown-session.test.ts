// The session in a page's envelope connects submitted forms with the beacon's events.
import { expect } from "chai"
import { ShiftedClock } from "../../shifted-clock.ts"
import { desktopChrome, event, Loop, type Published } from "./loop.ts"

const minute = 60_000

interface Told {
  readonly visitor_id: string
  readonly session_id: string
  readonly visitor_proof: string
}

describe("the session that a page is shown in", () => {
  const clock = new ShiftedClock()
  let loop: Loop
  let page: Published
  let url: string
  let agents = 0
  before(async () => {
    loop = await Loop.start({ clock, env: { MILLRACE_JOBS_POLL_MS: "30" } })
    page = await loop.publish([{ key: "control", html: "<form><input name=email></form>" }])
    url = (await loop.pipeline(page)).inbound_url
    await loop.call("POST", "/v1/event-pipelines", {
      name: "Contact",
      state: "active",
      source_kind: "browser_form",
      auth_mode: "public_artifact",
      owner_artifact_id: page.id,
      pipeline: [
        {
          type: "dataset.write",
          dataset_slug: "leads",
          key: "email",
          row: { email: "{{ event.email }}", session_id: "{{ envelope.session_id }}" },
        },
      ],
    })
  })
  after(() => loop.host.stop())
  const newcomer = () => ({ "user-agent": `${desktopChrome} Newcomer/${++agents}` })
  const openPage = async (headers: Record<string, string>): Promise<{ told: Told; form: URLSearchParams }> => {
    const html = (await (await fetch(loop.host.url + page.path, { headers })).text()).replaceAll("&quot;", '"')
    const session = JSON.parse(/data-mr="(.*?)"><\/script>/.exec(html)?.[1] ?? "{}") as { e: Told }
    const form = new URLSearchParams()
    for (const [, name = "", value = ""] of html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)) form.set(name, value)
    return { told: session.e, form }
  }
  const sessionOf = async (sessionData: object, headers: Record<string, string>) => {
    const view = event("pageview")
    const { status, body } = await loop.send(url, page, { _envelope: sessionData, events: [view] }, headers)
    expect(status, JSON.stringify(body)).to.equal(200)
    return (await loop.rowOf(view))?.["session_id"]
  }

  it("is the one that its events land in, and that its form tells", async () => {
    const headers = newcomer()
    const { told, form } = await openPage(headers)
    form.set("email", "ada@example.com")
    expect(form.get("_envelope.session_id")).to.equal(told.session_id)
    expect((await openPage(headers)).told.session_id).to.equal(told.session_id)
    expect(await sessionOf(told, headers)).to.equal(told.session_id)
    const response = await fetch(loop.host.url + page.path, { method: "POST", body: form, headers })
    expect(response.status).to.equal(200)
    const { rows } = await loop.call<{ rows: { values: Record<string, unknown> }[] }>("GET", "/v1/datasets/leads/rows")
    expect(rows.map(({ values }) => [values["email"], values["session_id"]])).to.deep.equal([["ada@example.com", told.session_id]])
  })

  it("goes on while it is open, and another page begins another once it is over", async () => {
    const headers = newcomer()
    const { told } = await openPage(headers)
    await sessionOf(told, headers)
    clock.ahead += 29 * minute
    expect((await openPage(headers)).told.session_id).to.equal(told.session_id)
    clock.ahead += 2 * minute
    const next = (await openPage(headers)).told
    expect(next.session_id).not.to.equal(told.session_id)
    expect(await sessionOf(next, headers)).to.equal(next.session_id)
  })

  it("is never an id that a session had before, however late or forged the page's word is", async () => {
    const headers = newcomer()
    const { told } = await openPage(headers)
    const first = await sessionOf(told, headers)
    clock.ahead += 32 * minute
    const late = await sessionOf(told, headers)
    expect(late).not.to.equal(first)
    const other = newcomer()
    expect(await sessionOf({ ...(await openPage(other)).told, session_id: String(first) }, other)).not.to.equal(first)
    const unread = await openPage(newcomer())
    clock.ahead += 31 * minute
    expect(await sessionOf(unread.told, newcomer())).not.to.equal(unread.told.session_id)
  })

  it("is not told to who sends Global Privacy Control, nor is the visitor", async () => {
    const html = await (await fetch(loop.host.url + page.path, { headers: { ...newcomer(), "sec-gpc": "1" } })).text()
    expect(html).to.include("_envelope.artifact_id").and.not.to.include("session_id").and.not.to.include("visitor_id")
  })
})
