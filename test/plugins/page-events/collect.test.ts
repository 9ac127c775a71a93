// Received page events: individual verdicts, rows, and the walls around the shared dataset.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { ApiKeys } from "../../../plugins/platform/organizations/index.ts"
import { until } from "../../waiting.ts"
import { desktopChrome, event, iphoneInstagram, Loop, type Published, someone } from "./loop.ts"

describe("page events", () => {
  let loop: Loop
  let page: Published
  let url: string
  let slug: string

  before(async () => {
    loop = await Loop.start({ env: { MILLRACE_INBOUND_GEO: "cloudflare" } })
    page = await loop.publish([
      { key: "a", html: "A" },
      { key: "b", html: "B" },
    ])
    const pipeline = await loop.pipeline(page)
    url = pipeline.inbound_url
    slug = pipeline.slug
  })
  after(() => loop.host.stop())
  const rowOf = (message: { event_id: string }) => loop.rowOf(message)

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
    expect([status, body.code, body.details?.results?.map((result) => result["cause"])]).to.deep.equal([
      400,
      "invalid_argument",
      ["unknown_event", "reserved_event"],
    ])
    const single = await loop.send(url, page, event("scroll_bail"), someone())
    expect([single.status, single.body.details?.reason]).to.deep.equal([400, "reserved_event"])
    const listless = await loop.send(url, page, { events: 7 }, someone())
    expect([listless.status, listless.body.code, listless.body.details?.reason]).to.deep.equal([400, "invalid_argument", "malformed_batch"])
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
      {
        "user-agent": iphoneInstagram,
        "accept-language": "pt-BR,en",
        "cf-ipcountry": "BR",
        "cf-region-code": "SP",
        "cf-ipcity": "S%C3%A3o%20Paulo",
      },
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
      country: "BR",
      region: "BR-SP",
      city: "São Paulo",
    })
    const [forged, silent] = [event("pageview"), event("pageview")]
    await loop.send(url, page, { _envelope: { variant: "no-such" }, events: [forged] }, someone())
    expect((await rowOf(forged))?.["variant"]).to.equal("")
    await loop.send(url, page, silent, someone())
    expect((await rowOf(silent))?.["variant"]).to.be.oneOf(["a", "b"])
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
    for (const [index, vital] of events.entries()) expect((await rowOf(vital))?.["vital_rating"]).to.equal(cases[index]?.[2])
  })

  it("hold names that the page's author gave, and nothing that a visitor may have typed", async () => {
    const typed = event("cta_click", { element: "call +43 660 1234567", text: "secret", value: "secret" })
    const formEvent = event("form_start", { form: "signup", field: "billing[email]" })
    await loop.send(url, page, { events: [typed, formEvent] }, someone())
    expect((await rowOf(typed))?.["element"]).to.equal("")
    expect(await rowOf(formEvent)).to.include({ form: "signup", field: "billing[email]" })
    expect(JSON.stringify(await loop.rows()))
      .not.to.include("secret")
      .and.not.to.include("1234567")
  })

  it("hold any name that the page's HTML gives an element, as it is now, and of other names none that may have been typed", async () => {
    const names = [
      "Book now!",
      "Sign up & save",
      "Start your free trial today",
      "btn-5f3a9c21-7788",
      "hsForm_8f2c1e5a-9d33-4411",
      "it's 5 > 4",
    ]
    const html = `<a data-cta='Book now!'></a><a data-cta="Sign up &amp; save"><a data-cta = "Start your free trial today">
      <button ID=btn-5f3a9c21-7788></button><form id="hsForm_8f2c1e5a-9d33-4411"></form><i name="it&#39;s 5 &#x3E; 4" title="call 0660 1234567"name="one more!"></i>
      <section data-section="${"long ".repeat(50)}"></section>`
    const variantPage = await loop.publish([
      { key: "a", html: "<h1>A</h1>" },
      { key: "b", html, weight: 0 },
    ])
    const { inbound_url } = await loop.pipeline(variantPage)
    const storedElements = async (inputs: readonly string[]) => {
      const sentEvents = inputs.map((element) => event("cta_click", { element }))
      await loop.send(inbound_url, variantPage, { events: sentEvents }, someone())
      return Promise.all(sentEvents.map(async (click) => (await rowOf(click))?.["element"]))
    }
    expect(await storedElements(names)).to.deep.equal(names)
    const others = ["call 0660 1234567", "0660 1234567", "I want to book now!", "٠٦٦٠١٢٣٤٥٦٧", "a@b.test", "long ".repeat(50)]
    expect(await storedElements(others)).to.deep.equal(others.map(() => ""))
    expect(await storedElements(["हिन्दी", "hero_cta"])).to.deep.equal(["हिन्दी", "hero_cta"])
    await loop.call("PATCH", `/v1/pages/${variantPage.slug}`, { variants: [{ key: "a", html: '<a data-cta="Call us!">' }] })
    expect(await storedElements(["Book now!", "Call us!"])).to.deep.equal(["", "Call us!"])
  })

  it("are their page's own: an id that another page used is another row", async () => {
    const other = await loop.publish()
    const lead = event("lead", { form: "contact" })
    await loop.send(url, page, lead, someone())
    await loop.send((await loop.pipeline(other)).inbound_url, other, { ...lead, event: "pageview" }, someone())
    const rows = await loop.rows({ event_id: lead.event_id })
    expect(rows.map((row) => [row["artifact_id"], row["event"]]).sort()).to.deep.equal(
      [
        [page.id, "lead"],
        [other.id, "pageview"],
      ].sort(),
    )
    expect(await loop.rows({ event_id: lead.event_id, artifact_id: page.id })).to.have.length(1)
  })

  it("of a browser that is a bot by its agent land as a test where they are tagged as one", async () => {
    const bot = {
      "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36",
    }
    const byHeader = event("pageview")
    const byBody = event("pageview")
    expect((await loop.send(url, page, byHeader, { ...bot, "x-service-test": "1" })).status).to.equal(200)
    expect((await loop.send(url, page, { is_test: true, events: [byBody] }, bot)).status).to.equal(200)
    for (const view of [byHeader, byBody]) expect(await rowOf(view)).to.include({ is_test: true })
  })

  it("of bots are rejected, folded, and leave no row", async () => {
    const before = (await loop.rows()).length
    const bot = { "user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)" }
    const { status, body } = await loop.send(url, page, { events: [event("pageview"), event("lead"), event("nope")] }, bot)
    expect([status, body.details?.reason]).to.deep.equal([403, "bot"])
    await loop.send(url, page, event("pageview"), bot)
    for (const none of [{ events: [] }, { events: [], clicks: [[1, 1, 1, "x"]], depth: 50 }]) {
      const answer = await loop.send(url, page, none, bot)
      expect([answer.status, answer.body.code, answer.body.details?.reason]).to.deep.equal([403, "permission_denied", "bot"])
    }
    // Folded into one entry per minute, and a minute may end between the requests.
    const folded = await until(async () => {
      const entries = (await loop.executions(slug)).filter((execution) => execution["cause"] === "bot")
      return entries.reduce((sum, { count }) => sum + Number(count), 0) === 6 && entries
    })
    expect(folded.length).to.be.within(1, 2)
    for (const entry of folded) expect(entry).to.include({ status: "rejected" })
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
      expect(answer.status, body).to.equal(401)
    }
  })

  it("keep nothing that says who a visitor is", async () => {
    const agent = `${desktopChrome} Unmistakable/42`
    await loop.send(url, page, event("pageview"), { "user-agent": agent })
    await loop.send(url, page, { _envelope: { artifact_id: "another" }, events: [event("pageview")] }, { "user-agent": agent })
    const fileNames = readdirSync(loop.host.dataDir, { recursive: true, encoding: "utf8" })
      .filter((file) => file.includes("millrace.db"))
      .map((file) => readFileSync(join(loop.host.dataDir, file), "latin1"))
    expect(fileNames.join("")).to.include("page_sessions").and.not.to.include("Unmistakable")
  })

  it("come into their dataset in no other way", async () => {
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

  it("are never lost because someone archived their dataset, whose name may change and whose rows may go", async () => {
    const { id } = await loop.call<{ id: string }>("GET", "/v1/datasets/page-events")
    for (const reference of ["page-events", id]) {
      const { status, body } = await loop.host.api("PATCH", `/v1/datasets/${reference}`, { status: "archived", name: "Old" })
      expect(status).to.equal(400)
      expect(body).to.deep.include({ code: "failed_precondition" })
      expect(body).to.have.nested.property("details.reason", "dataset_reserved")
      expect(body).to.have.nested.property("details.fields[0].path", "status")
    }
    for (const fixed of [{ key: "event" }, { columns: [] }])
      expect((await loop.host.api("PATCH", "/v1/datasets/page-events", fixed)).status).to.equal(400)
    const renamed = await loop.call("PATCH", "/v1/datasets/page-events", { name: "Visits", status: "active" })
    expect(renamed).to.deep.include({ name: "Visits", status: "active", key: "event_id" })
    const view = event("pageview")
    expect((await loop.send(url, page, view, someone())).status).to.equal(200)
    const filter = encodeURIComponent(JSON.stringify({ event_id: view.event_id }))
    const { rows } = await loop.call<{ rows: { id: string }[] }>("GET", `/v1/datasets/page-events/rows?filter=${filter}`)
    await loop.call("DELETE", `/v1/datasets/page-events/rows/${rows[0]?.id}`)
    expect(await rowOf(view)).to.equal(undefined)
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

  it("start again only after a person enables their pipeline", async () => {
    const other = await loop.publish()
    const { slug: disabled, inbound_url } = await loop.pipeline(other)
    const { host } = loop
    const put = (state: string, key?: string) =>
      host.api<{ details?: { reason: string } }>("PUT", `/v1/event-pipelines/${disabled}`, { state }, key === undefined ? {} : { key })
    const tool = async (key: string) => {
      const call = { name: "event_pipelines_update", arguments: { slug: disabled, state: "active" } }
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", accept: "application/json, text/event-stream" }
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call })
      return (await fetch(`${host.url}/mcp`, { method: "POST", headers, body })).text()
    }
    const keys = host.get(ApiKeys)
    const service = await host.get(UnitsOfWork).run((work) => {
      const keyOptions = { name: "Service", kind: "api_key", role: "admin", scopes: null, manager: false, user: null } as const
      return keys.mint(work, host.organization.id, keyOptions).text
    })
    const scopes = ["mcp", "event_pipelines:read", "event_pipelines:write"]
    const apiKey = await loop.call<{ secret: string }>("POST", "/v1/api-keys", { name: "Agent", kind: "token", role: "member", scopes })
    expect((await put("disabled", service)).status).to.equal(200)
    for (const state of ["active", "proposed"]) {
      const refused = await put(state, service)
      expect([refused.status, refused.body.details?.reason]).to.deep.equal([403, "persons_only"])
    }
    for (const key of [apiKey.secret, host.adminKey]) expect(await tool(key)).to.include("persons_only")
    expect((await loop.send(inbound_url, other, event("pageview"))).status).to.equal(404)
    expect((await put("active")).status).to.equal(200)
    expect((await loop.send(inbound_url, other, event("pageview"))).status).to.equal(200)
  })
})
