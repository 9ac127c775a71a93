// What the service makes of page events that are sent to it: verdicts one by one, rows, sessions, friction, and the walls
// around the shared dataset.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { desktopChrome, eventId, iphoneInstagram, Loop, type Published, until } from "./loop.ts"

const minute = 60_000

describe("page events", () => {
  let loop: Loop
  let page: Published
  let url: string
  let slug: string
  let ahead = 0
  const clock = {
    now: () => Date.now() + ahead,
    monotonic: () => performance.now() + ahead,
    after(milliseconds: number, run: () => void) {
      const timer = setTimeout(run, milliseconds)
      timer.unref()
      return () => clearTimeout(timer)
    },
  }

  before(async () => {
    loop = await Loop.start({ clock, env: { MILLRACE_JOBS_POLL_MS: "30" } })
    page = await loop.publish([
      { key: "a", html: "A" },
      { key: "b", html: "B" },
    ])
    const pipeline = await loop.pipeline(page)
    url = pipeline.inbound_url
    slug = pipeline.slug
  })
  after(() => loop.host.stop())
  const event = (kind: string, more: object = {}) => ({ event: kind, event_id: eventId(), ...more })
  let agents = 0
  /** An agent of its own is a visitor of its own. */
  const someone = () => ({ "user-agent": `${desktopChrome} Visitor/${++agents}` })
  const rowOf = async ({ event_id }: { event_id: string }) => (await loop.rows({ event_id }))[0]

  it("are taken by a pipeline that publishing makes once, reserved in what it does", async () => {
    const pipeline = await loop.pipeline(page)
    expect(pipeline).to.deep.include({
      purpose: "page_events",
      state: "active",
      auth_mode: "public_artifact",
      owner_artifact_id: page.id,
      write_target_datasets: ["default.page-events"],
      pipeline: [{ id: "page_events", type: "dataset.write", dataset_slug: "page-events", key: "event_id" }],
    })
    const change = (body: object) => loop.host.api<{ details: { reason: string } }>("PUT", `/v1/event-pipelines/${slug}`, body)
    const [write] = pipeline["pipeline"] as object[]
    for (const body of [
      { pipeline: [] },
      { pipeline: [write, { ...write, id: "again" }] },
      { pipeline: [{ ...write, dataset_slug: "elsewhere" }] },
      { pipeline: [write, { type: "live.broadcast", channel: "x" }] },
      { transform_js: "function transform(e) { return e }" },
      { request_schema: { type: "object" } },
      { owner_artifact_id: null },
      { purpose: "custom" },
    ]) {
      const { status, body: answer } = await change(body)
      expect([status, answer.details.reason], JSON.stringify(body)).to.deep.equal([400, "reserved_pipeline"])
    }
    expect((await change({ name: "Visits", pipeline: pipeline["pipeline"] })).status).to.equal(200)
    expect(await loop.pipeline(page)).to.deep.include({ name: "Visits", purpose: "page_events", pipeline: pipeline["pipeline"] })
    const create = { name: "Mine", purpose: "page_events", pipeline: [write] }
    expect((await loop.host.api("POST", "/v1/event-pipelines", create)).status).to.equal(400)
  })

  it("are judged one by one: each has its verdict, its entry and, when it is good, its row", async () => {
    const good = event("pageview", { at: 4_000 })
    const vital = event("web_vital", { vital_name: "CLS", vital_value: 0.1 })
    const bad = [
      event("hover"),
      event("rage_click"),
      event("scroll_bail"),
      event("form_abandon"),
      event("scroll_milestone", { scroll_depth: 30 }),
    ]
    const nameless = { event: "pageview" }
    const { status, body } = await loop.send(url, page, { sent_at: 9_000, events: [good, ...bad, nameless, 7, vital] }, someone())
    expect(status).to.equal(200)
    expect(body.results.map((result) => result["cause"] ?? result["status"])).to.deep.equal([
      "accepted",
      "unknown_event",
      "reserved_event",
      "reserved_event",
      "reserved_event",
      "invalid_event",
      "invalid_event",
      "invalid_event",
      "accepted",
    ])
    const entries = await loop.executions(slug)
    for (const result of body.results) {
      const entry = entries.find(({ id }) => id === result["execution_id"])
      expect(entry).to.include({ status: result["status"], cause: result["cause"] ?? "" })
    }
    expect(await rowOf(vital)).to.include({ vital_name: "CLS", vital_value: 0.1, vital_rating: "good" })
    const row = await rowOf(good)
    const entry = entries.find(({ id }) => id === body.results[0]?.["execution_id"])
    expect(Date.parse(String(entry?.["received_at"])) - Date.parse(String(row?.["at"]))).to.equal(5_000)
    for (const { event_id } of bad) expect(await loop.rows({ event_id })).to.deep.equal([])
  })

  it("that are all bad are refused, with why of each", async () => {
    const { status, body } = await loop.send(url, page, { events: [event("nope"), event("rage_click")] }, someone())
    expect([status, body.code, body.details?.results?.map((one) => one["cause"])]).to.deep.equal([
      400,
      "invalid_argument",
      ["unknown_event", "reserved_event"],
    ])
    const single = await loop.send(url, page, event("scroll_bail"), someone())
    expect([single.status, single.body.details?.reason]).to.deep.equal([400, "reserved_event"])
  })

  it("may come one at a time, and land once however often they are sent", async () => {
    const lead = event("lead", { form: "contact" })
    const headers = someone()
    for (let n = 0; n < 2; n++) expect((await loop.send(url, page, lead, headers)).status).to.equal(200)
    expect(await loop.rows({ event_id: lead.event_id })).to.have.length(1)
  })

  it("are stamped with page, variant, session, campaign, device and test traffic", async () => {
    const view = event("pageview")
    const _envelope = {
      page_url: "https://acme.test/p?email=x@y.z#top",
      variant: "b",
      utm_source: "news",
      click_id: "c1",
      click_id_type: "gclid",
    }
    await loop.send(
      url,
      page,
      { _envelope, is_test: true, events: [view] },
      { "user-agent": iphoneInstagram, "accept-language": "pt-BR,en" },
    )
    expect(await rowOf(view)).to.deep.include({
      artifact_id: page.id,
      page_url: "https://acme.test/p",
      variant: "b",
      utm_source: "news",
      utm_medium: "",
      click_id: "c1",
      click_id_type: "gclid",
      is_test: true,
      device_type: "mobile",
      in_app: "instagram",
      language: "pt",
    })
    const forged = event("pageview")
    await loop.send(url, page, { _envelope: { variant: "no-such" }, events: [forged] }, someone())
    expect((await rowOf(forged))?.["variant"]).to.be.oneOf(["a", "b"])
  })

  it("rate web vitals by their bounds, equal counting as the better", async () => {
    const cases: [string, number, string][] = [
      ["LCP", 2_500, "good"],
      ["LCP", 2_501, "needs-improvement"],
      ["LCP", 4_000, "needs-improvement"],
      ["LCP", 4_001, "poor"],
      ["INP", 200, "good"],
      ["INP", 500, "needs-improvement"],
      ["INP", 501, "poor"],
      ["CLS", 0.25, "needs-improvement"],
      ["CLS", 0.2501, "poor"],
    ]
    const events = cases.map(([vital_name, vital_value]) => event("web_vital", { vital_name, vital_value, vital_rating: "good" }))
    await loop.send(url, page, { events }, someone())
    for (const [index, sent] of events.entries()) expect((await rowOf(sent))?.["vital_rating"]).to.equal(cases[index]?.[2])
  })

  it("hold names that the page's author gave, and nothing that a visitor may have typed", async () => {
    const typed = event("cta_click", { element: "call +43 660 1234567", text: "secret", value: "secret" })
    const named = event("form_start", { form: "signup", field: "billing[email]" })
    await loop.send(url, page, { events: [typed, named] }, someone())
    expect((await rowOf(typed))?.["element"]).to.equal("")
    expect(await rowOf(named)).to.include({ form: "signup", field: "billing[email]" })
    expect(JSON.stringify(await loop.rows()))
      .not.to.include("secret")
      .and.not.to.include("1234567")
  })

  it("of bots are rejected, folded, and leave no row", async () => {
    const before = (await loop.rows()).length
    const bot = { "user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)" }
    const { status, body } = await loop.send(url, page, { events: [event("pageview"), event("lead"), event("nope")] }, bot)
    expect([status, body.details?.reason]).to.deep.equal([403, "bot"])
    await loop.send(url, page, event("pageview"), bot)
    const folded = await until(async () => (await loop.executions(slug)).find((one) => one["cause"] === "bot" && one["count"] === 4))
    expect(folded).to.include({ status: "rejected" })
    expect(await loop.rows()).to.have.length(before)
  })

  it("must name their page, which must be public", async () => {
    const send = (body: object) => loop.send(url, page, body, someone())
    expect(
      (await send({ _envelope: { artifact_id: "0190a000-0000-7000-8000-00000000dead" }, events: [event("pageview")] })).status,
    ).to.equal(401)
    const other = await loop.publish()
    const { inbound_url } = await loop.pipeline(other)
    await loop.call("POST", `/v1/pages/${other.slug}/unpublish`)
    expect((await loop.send(inbound_url, other, event("pageview"))).status).to.equal(401)
    const tooMany = await send({ events: Array.from({ length: 201 }, () => event("pageview")) })
    expect([tooMany.status, tooMany.body.details?.reason]).to.deep.equal([400, "too_many_events"])
    for (const body of ["[]", "7", '{"events":{}}', "no json"]) {
      const answer = await fetch(url, { method: "POST", headers: { "content-type": "text/plain", ...someone() }, body })
      expect(answer.status, body).to.be.oneOf([400, 401])
    }
  })

  it("have a session that ends after half an hour without any, and lasts a day at most", async () => {
    const headers = someone()
    const session = async () => {
      const view = event("pageview")
      await loop.send(url, page, view, headers)
      return (await rowOf(view))?.["session_id"]
    }
    const first = await session()
    ahead += 29 * minute
    expect(await session()).to.equal(first)
    ahead += 29 * minute
    expect(await session()).to.equal(first)
    ahead += 31 * minute
    const second = await session()
    expect(second).not.to.equal(first)
    for (let n = 0; n < 48; n++) {
      ahead += 29 * minute
      expect(await session(), `visit ${n}`).to.equal(second)
    }
    ahead += 60 * minute
    expect(await session()).not.to.equal(second)
  }).timeout(10_000)

  it("show clicks in rage: three, each under a second and 30 px from the one before, once a burst", async () => {
    const rage = async (clicks: [number, number, number][]) => {
      const headers = someone()
      const view = event("pageview")
      await loop.send(url, page, { sent_at: 50_000, events: [view], clicks: clicks.map((click) => [...click, "dead"]) }, headers)
      const { session_id } = (await rowOf(view)) ?? {}
      return (await loop.rows({ event: "rage_click" })).filter((row) => row["session_id"] === session_id)
    }
    expect(
      await rage([
        [1_000, 10, 10],
        [1_999, 39, 10],
        [2_998, 39, 39],
      ]),
    ).to.have.length(1)
    expect(
      await rage([
        [1_000, 10, 10],
        [2_000, 10, 10],
        [2_500, 10, 10],
      ]),
    ).to.have.length(0)
    expect(
      await rage([
        [1_000, 10, 10],
        [1_100, 25, 25],
        [1_200, 25, 25],
      ]),
    ).to.have.length(0)
    expect(
      await rage([
        [1_000, 10, 10],
        [1_100, 10, 10],
      ]),
    ).to.have.length(0)
    expect(await rage(Array.from({ length: 9 }, (_, n) => [1_000 + n * 200, 10, 10]))).to.have.length(1)
    const [two, other] = await rage([0, 1, 2, 30, 31, 32].map((n) => [1_000 + n * 300, 10, 10]))
    expect([two?.["event_id"], other?.["event_id"]].map((id) => String(id).split(":").slice(1).join(":")).sort()).to.deep.equal([
      "rage_click:1",
      "rage_click:2",
    ])
    expect(two).to.include({ element: "dead", x: 10, y: 10, click_count: 3 })
  })

  it("show clicks in rage across requests, and repeat nothing that is sent again", async () => {
    const headers = someone()
    const first = event("cta_click", { at: 1_000, x: 5, y: 5, element: "buy" })
    const second = event("cta_click", { at: 1_300, x: 5, y: 5, element: "buy" })
    const third = event("cta_click", { at: 1_600, x: 5, y: 5, element: "buy" })
    for (const one of [first, second, second, third, third, third]) await loop.send(url, page, { sent_at: 2_000, events: [one] }, headers)
    const { session_id } = (await rowOf(first)) ?? {}
    expect((await loop.rows({ event: "rage_click", session_id })).length).to.equal(1)
  })

  it("say at a session's end who bailed and which form was left, once, whatever happened to the process meanwhile", async () => {
    const visit = async (events: object[], more: object = {}) => {
      const view = event("pageview")
      await loop.send(url, page, { events: [view, ...events], ...more }, someone())
      return (await rowOf(view))?.["session_id"]
    }
    const bailed = await visit([], { depth: 24 })
    const read = await visit([event("scroll_milestone", { scroll_depth: 25 })])
    const clicked = await visit([event("cta_click", { element: "buy" })])
    const left = await visit([event("form_start", { form: "contact", field: "email" })], {
      depth: 50,
      touched: [
        ["contact", "email"],
        ["contact", "name"],
        ["contact", "0660 1234567"],
      ],
    })
    const sent = await visit([event("form_start", { form: "contact" }), event("lead", { form: "contact" })], { depth: 50 })
    const derived = async (session_id: unknown) =>
      (await loop.rows({ session_id: session_id as string })).filter((row) =>
        ["scroll_bail", "form_abandon"].includes(String(row["event"])),
      )
    expect(await derived(bailed)).to.deep.equal([])
    ahead += 31 * minute
    const [bail] = await until(async () => {
      const rows = await derived(bailed)
      return rows.length > 0 && rows
    })
    const [abandoned] = await until(async () => {
      const rows = await derived(left)
      return rows.length > 0 && rows
    })
    expect(bail).to.deep.include({
      event: "scroll_bail",
      event_id: `${bailed as string}:scroll_bail:1`,
      max_scroll_depth: 24,
      artifact_id: page.id,
    })
    expect(abandoned).to.deep.include({
      event: "form_abandon",
      form: "contact",
      fields_touched: "email,name",
      field_count: 2,
      last_field: "name",
    })
    for (const session of [read, clicked, sent]) expect(await derived(session)).to.deep.equal([])
    expect(await derived(bailed)).to.have.length(1)
  })

  it("keep nothing that says who a visitor is", async () => {
    const agent = `${desktopChrome} Unmistakable/42`
    await loop.send(url, page, event("pageview"), { "user-agent": agent })
    await loop.send(url, page, { _envelope: { artifact_id: "another" }, events: [event("pageview")] }, { "user-agent": agent })
    const kept = readdirSync(loop.host.dataDir, { recursive: true, encoding: "utf8" })
      .filter((file) => file.includes("millrace.db"))
      .map((file) => readFileSync(join(loop.host.dataDir, file), "latin1"))
    expect(kept.join("")).to.include("page_sessions").and.not.to.include("Unmistakable")
  })

  it("are replayed with a receipt when exactly their row is written, and with none otherwise", async () => {
    const view = event("pageview")
    const { body } = await loop.send(url, page, { events: [view, event("nope")] }, someone())
    const replay = (id: unknown) =>
      loop.host.api<{ status: string; response: { body: { receipt?: Record<string, unknown> } }; details: { reason: string } }>(
        "POST",
        `/v1/event-pipelines/${slug}/executions/${id as string}/replay`,
        {},
      )
    const before = await rowOf(view)
    const { status, body: answer } = await replay(body.results[0]?.["execution_id"])
    expect([status, answer.status]).to.deep.equal([200, "accepted"])
    const { receipt } = answer.response.body
    expect(receipt).to.include({ dataset: "default.page-events", event_id: view.event_id, replay_of: body.results[0]?.["execution_id"] })
    expect(receipt?.["signature"]).to.match(/^[\w-]{43}$/)
    expect(await loop.rows({ event_id: view.event_id })).to.deep.equal([before])
    const refused = await replay(body.results[1]?.["execution_id"])
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "payload_gone"])
    await loop.call("PATCH", "/v1/datasets/page-events", { status: "archived" })
    const closed = await replay(body.results[0]?.["execution_id"])
    expect([closed.status, closed.body.details.reason]).to.deep.equal([400, "receipt_refused"])
    await loop.call("PATCH", "/v1/datasets/page-events", { status: "active" })
  })

  it("come into their dataset by no other door", async () => {
    const rows = await loop.host.api("POST", "/v1/datasets/page-events/rows", {
      rows: [{ event_id: "forged123", event: "rage_click" }],
      key: "event_id",
    })
    expect(rows.status).to.equal(400)
    const write = { type: "dataset.write", dataset_slug: "page-events", key: "event_id" }
    expect((await loop.host.api("POST", "/v1/event-pipelines", { name: "Door", auth_mode: "none", pipeline: [write] })).status).to.equal(
      400,
    )
    const qualified = { ...write, dataset_slug: "default.page-events" }
    expect(
      (await loop.host.api("POST", "/v1/event-pipelines", { name: "Door", auth_mode: "none", pipeline: [qualified] })).status,
    ).to.equal(400)
    const inside = await loop.host.api("POST", `/v1/event-pipelines/${slug}/events`, {
      payload: { event: "rage_click", event_id: "forged123" },
    })
    expect(inside.status).to.equal(400)
    expect(await loop.rows({ event_id: "forged123" })).to.deep.equal([])
  })

  it("end when their pipeline is disabled, and publishing again does not bring them back", async () => {
    const other = await loop.publish()
    const pipeline = await loop.pipeline(other)
    const html = async () => (await fetch(loop.host.url + other.path)).text()
    expect(await html())
      .to.include("/v1/beacon.js")
      .and.to.include(pipeline.inbound_url)
    await loop.call("PUT", `/v1/event-pipelines/${pipeline.slug}`, { state: "disabled" })
    expect(await html()).not.to.include("beacon")
    expect((await loop.send(pipeline.inbound_url, other, event("pageview"))).status).to.equal(404)
    await loop.call("POST", `/v1/pages/${other.slug}/unpublish`)
    await loop.call("POST", `/v1/pages/${other.slug}/publish`)
    expect(await loop.pipeline(other)).to.deep.include({ id: pipeline.id, state: "disabled" })
    const { event_pipelines } = await loop.call<{ event_pipelines: { owner_artifact_id: string }[] }>(
      "GET",
      "/v1/event-pipelines?purpose=page_events",
    )
    expect(event_pipelines.filter(({ owner_artifact_id }) => owner_artifact_id === other.id)).to.have.length(1)
  })
})

describe("sessions", () => {
  it("end, and say what follows, though the service was started anew meanwhile", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-sessions-"))
    let ahead = 0
    const clock = {
      now: () => Date.now() + ahead,
      monotonic: () => performance.now(),
      after(milliseconds: number, run: () => void) {
        const timer = setTimeout(run, milliseconds)
        return () => clearTimeout(timer)
      },
    }
    const options = { dataDir, clock, env: { MILLRACE_JOBS_POLL_MS: "30" } }
    try {
      const before = await Loop.start(options)
      const page = await before.publish()
      const { inbound_url } = await before.pipeline(page)
      await before.send(inbound_url, page, { events: [{ event: "pageview", event_id: "before-the-stop" }] })
      await before.host.stop()
      ahead = 31 * minute
      const after = await Loop.start(options)
      const [bail] = await until(async () => {
        const rows = await after.rows({ event: "scroll_bail" })
        return rows.length > 0 && rows
      })
      const [view] = await after.rows({ event: "pageview" })
      expect(bail).to.include({ session_id: view?.["session_id"] as string, artifact_id: page.id })
      await after.host.stop()
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  it("are one, however many requests of a visitor come at once", async () => {
    const loop = await Loop.start()
    try {
      const page = await loop.publish()
      const { inbound_url } = await loop.pipeline(page)
      const sent = Array.from({ length: 30 }, (_, n) => loop.send(inbound_url, page, { event: "pageview", event_id: `at-once-${n}` }))
      expect((await Promise.all(sent)).map(({ status }) => status)).to.deep.equal(Array.from({ length: 30 }, () => 200))
      const rows = await loop.rows({ event: "pageview" })
      expect(rows).to.have.length(30)
      expect(new Set(rows.map((row) => row["session_id"]))).to.have.property("size", 1)
    } finally {
      await loop.host.stop()
    }
  })
})
