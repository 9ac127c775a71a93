// Leads in page events: one per accepted submission from any sender, and none for refused submissions.
import { expect } from "chai"
import { ShiftedClock } from "../../shifted-clock.ts"
import { until } from "../../waiting.ts"
import { event, Loop, type Published, someone } from "./loop.ts"

const minute = 60_000
const html = '<h1>Offer</h1><form id="contact"><input name="email"><button>Send</button></form>'
type Values = Record<string, unknown>

interface Visit {
  readonly headers: Record<string, string>
  readonly fields: [string, string][]
  readonly envelope: Record<string, string>
  readonly session: string
}

describe("leads of a page", () => {
  const clock = new ShiftedClock()
  let loop: Loop
  let page: Published
  let url: string
  let inbound: string
  let pipeline: string
  before(async () => {
    loop = await Loop.start({ clock, env: { MILLRACE_JOBS_POLL_MS: "30" } })
    page = await loop.publish([{ key: "control", html }])
    url = (await loop.pipeline(page)).inbound_url
    ;({ inbound, pipeline } = await capture(page, "leads"))
  })
  after(() => loop.host.stop())

  async function capture(of: Published, dataset: string, auth_mode = "public_artifact"): Promise<{ inbound: string; pipeline: string }> {
    const { inbound_url, slug } = await loop.call<{ inbound_url: string; slug: string }>("POST", "/v1/event-pipelines", {
      name: `Keeps ${dataset} ${of.slug}`,
      state: "active",
      source_kind: "browser_form",
      auth_mode,
      owner_artifact_id: of.id,
      accept_files: false,
      request_schema: { type: "object", required: ["email"], properties: { email: { type: "string", format: "email" } } },
      transform_js: 'function transform(event) { return event.email === "dropped@acme.test" ? null : event }',
      pipeline: [
        {
          type: "dataset.write",
          dataset_slug: dataset,
          key: "email",
          row: { email: "{{ event.email }}", session_id: "{{ envelope.session_id }}", utm_source: "{{ envelope.utm_source }}" },
        },
      ],
    })
    return { inbound: inbound_url, pipeline: slug }
  }

  /** A visitor who opens the page and starts its form. */
  async function visit(of = page, query = "", headers: Record<string, string> = someone()): Promise<Visit> {
    const text = await (await fetch(loop.host.url + of.path + query, { headers })).text()
    const fields = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(
      ([, name = "", value = ""]): [string, string] => [name, value],
    )
    const envelope = Object.fromEntries(
      fields.flatMap(([name, value]) => (name.startsWith("_envelope.") && name !== "_envelope.form" ? [[name.slice(10), value]] : [])),
    ) as Record<string, string>
    const target = (await loop.pipeline(of)).inbound_url
    await loop.send(
      target,
      of,
      { _envelope: envelope, events: [event("pageview"), event("form_start", { form: "contact", field: "email" })] },
      headers,
    )
    return { headers, fields, envelope, session: envelope["session_id"] ?? "" }
  }

  const post = (address: string, body: string | URLSearchParams | FormData, headers: Record<string, string>) =>
    fetch(address, { method: "POST", redirect: "manual", headers, body })
  const asForm = ({ fields }: Visit, email: string) => new URLSearchParams([...fields, ["email", email]])
  const multipart = ({ fields }: Visit, email: string) => {
    const form = new FormData()
    for (const [name, value] of [...fields, ["email", email]] as [string, string][]) form.append(name, value)
    return form
  }
  const json = { "content-type": "application/json" }
  const leads = (of: Published = page) => loop.rows({ artifact_id: of.id, event: "lead" })
  const leadsOf = async (session: string) => (await leads()).filter((row) => row["session_id"] === session)
  const leadRows = async () =>
    (await loop.call<{ rows: { values: Values }[] }>("GET", "/v1/datasets/leads/rows?limit=200")).rows.map(({ values }) => values)
  /** Returns the rows of ended sessions. A later row of the same kind marks their end. */
  const ended = async (sessions: readonly string[]) => {
    clock.ahead += 31 * minute
    await until(async () => {
      const bails = (await loop.rows({ event: "scroll_bail" })).map((row) => row["session_id"])
      return sessions.every((session) => bails.includes(session))
    })
    return (await loop.rows({ event: "form_abandon" })).map((row) => row["session_id"])
  }

  const ways: Record<string, (visit: Visit, email: string) => Promise<Response>> = {
    "a form": (visit, email) => post(loop.host.url + page.path, asForm(visit, email), { ...visit.headers, accept: "text/html" }),
    "fetch with FormData": (visit, email) => post(loop.host.url + page.path, multipart(visit, email), visit.headers),
    "fetch with JSON": (visit, email) => post(loop.host.url + page.path, JSON.stringify({ email }), { ...visit.headers, ...json }),
    "fetch to the pipeline itself": (visit, email) =>
      post(inbound, JSON.stringify({ email, _envelope: visit.envelope }), { ...visit.headers, ...json }),
  }

  it("are told of once for each that is kept, from every sender, and were not abandoned", async () => {
    const sessions: string[] = []
    for (const [way, send] of Object.entries(ways)) {
      const visitor = await visit()
      const { status } = await send(visitor, `${sessions.length}@acme.test`)
      expect(status, way).to.be.oneOf([200, 303])
      const rows = await leadsOf(visitor.session)
      expect(rows, way).to.have.length(1)
      expect(rows[0], way).to.include({ form: "contact", variant: "control", is_test: false, device_type: "desktop", browser: "chrome" })
      expect(rows[0]?.["page_url"], way).to.equal(loop.host.url + page.path)
      sessions.push(visitor.session)
    }
    expect((await leads()).map((row) => row["session_id"]).sort()).to.deep.equal((await leadRows()).map((row) => row["session_id"]).sort())
    expect(await ended(sessions)).to.deep.equal([])
  })

  it("are not those of a submission that names another page than its pipeline's", async () => {
    const other = await loop.publish([{ key: "control", html }])
    const open = await capture(other, "open-leads", "none")
    const visitor = await visit(other)
    const send = (artifact_id: string) =>
      post(open.inbound, JSON.stringify({ email: "a@acme.test", _envelope: { ...visitor.envelope, artifact_id } }), {
        ...visitor.headers,
        ...json,
      })
    expect((await send(page.id)).status).to.equal(200)
    expect([await leadsOf(visitor.session), await leads(other)]).to.deep.equal([[], []])
    expect((await send(other.id)).status).to.equal(200)
    expect(await leads(other)).to.have.length(1)
  })

  it("are not those that were refused: nothing is told of, and the form was abandoned", async () => {
    const before = (await leadRows()).length
    const sessions: string[] = []
    const refused = async (send: (visit: Visit) => Promise<Response>, status: number) => {
      const visitor = await visit()
      expect((await send(visitor)).status).to.equal(status)
      sessions.push(visitor.session)
    }
    await refused(
      (visitor) => post(loop.host.url + page.path, asForm(visitor, "ada@localhost"), { ...visitor.headers, accept: "text/html" }),
      400,
    )
    await refused((visitor) => post(loop.host.url + page.path, multipart(visitor, "no address"), visitor.headers), 400)
    // Accepted, but dropped by the transform, such as a trap for programs.
    await refused(
      (visitor) => post(loop.host.url + page.path, JSON.stringify({ email: "dropped@acme.test" }), { ...visitor.headers, ...json }),
      200,
    )
    for (const session of sessions) expect(await leadsOf(session)).to.deep.equal([])
    expect(await leadRows()).to.have.length(before)
    expect(await ended(sessions)).to.include.members(sessions)
  })

  it("are one for one accepted event, however often it is run again", async () => {
    const visitor = await visit()
    await ways["a form"]?.(visitor, "again@acme.test")
    const { executions } = await loop.call<{ executions: { id: string }[] }>(
      "GET",
      `/v1/event-pipelines/${pipeline}/executions?status=accepted&limit=1`,
    )
    await loop.call("POST", `/v1/event-pipelines/${pipeline}/executions/${executions[0]?.id}/replay`)
    expect(await leadsOf(visitor.session)).to.have.length(1)
  })

  it("are told of nothing where the browser asks not to be followed, or says another page's session", async () => {
    const quiet = someone()
    const before = (await leads()).length
    const text = await (await fetch(loop.host.url + page.path, { headers: { ...quiet, "sec-gpc": "1" } })).text()
    expect(text).not.to.include("session_id")
    await post(loop.host.url + page.path, JSON.stringify({ email: "quiet@acme.test" }), { ...quiet, ...json, "sec-gpc": "1" })
    await post(inbound, JSON.stringify({ email: "odd@acme.test", _envelope: { artifact_id: page.id, session_id: "not-a-session" } }), json)
    expect(await leads()).to.have.length(before)
    expect((await leadRows()).map((row) => row["email"])).to.include.members(["quiet@acme.test", "odd@acme.test"])
  })

  it("ignore the forms of bots, which are kept, and count a bot that says it is a test", async () => {
    const googlebot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    const bots: Record<string, [agent: string, way: string]> = {
      form: [googlebot, "a form"],
      script: ["Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "fetch with FormData"],
      program: ["python-requests/2.32.3", "fetch to the pipeline itself"],
    }
    for (const [name, [agent, way]] of Object.entries(bots)) {
      const visitor = await visit(page, "", { "user-agent": `${agent} ${name}` })
      expect((await ways[way]?.(visitor, `${name}-bot@acme.test`))?.status, name).to.be.oneOf([200, 303])
      expect(await leadsOf(visitor.session), name).to.deep.equal([])
    }
    expect((await leadRows()).map((row) => row["email"])).to.include.members(Object.keys(bots).map((name) => `${name}-bot@acme.test`))
    const { executions } = await loop.call<{ executions: { id: string }[] }>(
      "GET",
      `/v1/event-pipelines/${pipeline}/executions?status=accepted&limit=1`,
    )
    const before = (await leads()).length
    await loop.call("POST", `/v1/event-pipelines/${pipeline}/executions/${executions[0]?.id}/replay`)
    expect(await leads()).to.have.length(before)
    const check = { "user-agent": `${googlebot} check`, "x-service-test": "1" }
    const tried = await visit(page, "", check)
    await ways["a form"]?.(tried, "check-bot@acme.test")
    expect((await leadsOf(tried.session))[0]).to.include({ is_test: true })
  })

  it("are tests in a page that was opened as a test, also without the header later", async () => {
    for (const marked of ["1", "true"]) {
      const headers = someone()
      const html = await (await fetch(loop.host.url + page.path, { headers: { ...headers, "x-service-test": marked } })).text()
      const session = JSON.parse((/data-mr="([^"]+)"/.exec(html)?.[1] ?? "").replaceAll("&quot;", '"')) as { e: object; t?: number }
      expect(session.t).to.equal(1)
      const unload = event("web_vital", { vital_name: "CLS", vital_value: 0 })
      await loop.send(url, page, { _envelope: session.e, is_test: !!session.t, events: [unload] }, headers)
      expect(await loop.rowOf(unload)).to.include({ is_test: true })
      const fields = [...html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(
        ([, name = "", value = ""]): [string, string] => [name, value],
      )
      await post(loop.host.url + page.path, new URLSearchParams([...fields, ["email", `marked-${marked}@acme.test`]]), headers)
    }
    const tests = (await leads()).filter((row) => row["is_test"] === true)
    expect(tests).to.have.length.of.at.least(2)
    const plain = await (await fetch(loop.host.url + page.path, { headers: { ...someone(), "x-service-test": "0" } })).text()
    expect(plain).not.to.include("&quot;t&quot;:1")
  })

  it("are of their traffic: a team's own lead ends no visitor's form", async () => {
    const visitor = await visit()
    await post(loop.host.url + page.path, asForm(visitor, "test@acme.test"), { ...visitor.headers, "x-service-test": "1" })
    expect(await leadsOf(visitor.session)).to.have.length(1)
    expect((await leadsOf(visitor.session))[0]).to.include({ is_test: true })
    expect(await ended([visitor.session])).to.include(visitor.session)
  })

  it("have the campaign that began the visit, on whichever page they are sent, and so has all that is kept of them", async () => {
    const next = await loop.publish([{ key: "control", html }])
    await capture(next, "leads")
    const visitor = await visit(page, "?utm_source=letter&gclid=abc")
    const { envelope, fields, session } = await visit(next, "", visitor.headers)
    expect([envelope["utm_source"], envelope["click_id"], session]).to.deep.equal(["letter", "abc", visitor.session])
    const body = new URLSearchParams([...fields.filter(([name]) => !/utm|click/.test(name)), ["email", "campaign@acme.test"]])
    expect((await post(loop.host.url + next.path, body, { ...visitor.headers, accept: "text/html" })).status).to.equal(303)
    const rows = await loop.rows({ artifact_id: next.id })
    expect(rows.map((row) => row["event"]).sort()).to.deep.equal(["form_start", "lead", "pageview"])
    for (const row of rows) expect(row).to.include({ utm_source: "letter", click_id: "abc", click_id_type: "gclid", session_id: session })
    expect((await leadRows()).find((row) => row["email"] === "campaign@acme.test")).to.include({
      utm_source: "letter",
      session_id: session,
    })
  })

  it("of a form that was left open for long are of the session that the page was shown in, which goes on", async () => {
    const visitor = await visit()
    expect(await ended([visitor.session])).to.include(visitor.session)
    clock.ahead += 20 * minute
    const { session_id } = visitor.envelope
    const click = event("cta_click", { element: "send" })
    await loop.send(url, page, { _envelope: visitor.envelope, events: [click] }, visitor.headers)
    await ways["a form"]?.(visitor, "late@acme.test")
    expect(await loop.rowOf(click)).to.include({ session_id })
    expect(await leadsOf(visitor.session)).to.have.length(1)
    // Rows derived at the supposed end are removed and not written again.
    const of = async (kind: string) => (await loop.rows({ event: kind })).filter((row) => row["session_id"] === session_id)
    expect([await of("form_abandon"), await of("scroll_bail")]).to.deep.equal([[], []])
    const other = await visit()
    expect(await ended([other.session])).not.to.include(visitor.session)
    expect(await of("scroll_bail")).to.deep.equal([])
  })

  it("take back that a form was abandoned, though nothing but the lead came", async () => {
    const visitor = await visit()
    expect(await ended([visitor.session])).to.include(visitor.session)
    await ways["a form"]?.(visitor, "alone@acme.test")
    const abandoned = (await loop.rows({ event: "form_abandon" })).map((row) => row["session_id"])
    expect(abandoned).not.to.include(visitor.session)
  })

  it("are told of nothing where the page's analytics are off", async () => {
    const off = await loop.publish([{ key: "control", html }])
    await capture(off, "leads")
    const visitor = await visit(off)
    await loop.call("PUT", `/v1/event-pipelines/page-events-${off.slug}`, { state: "disabled" })
    await post(loop.host.url + off.path, asForm(visitor, "off@acme.test"), { ...visitor.headers, accept: "text/html" })
    expect((await leadRows()).map((row) => row["email"])).to.include("off@acme.test")
    const other = await visit()
    await ended([other.session])
    expect((await loop.rows({ artifact_id: off.id })).map((row) => row["event"]).sort()).to.deep.equal(["form_start", "pageview"])
  })
})
