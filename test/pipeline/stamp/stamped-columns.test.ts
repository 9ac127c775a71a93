// Columns stamped at ingestion over HTTP: a row's columns, their precedence, and test marks.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { answered, Bench, post } from "../bench.ts"
import { onStoresInTurn } from "../stores.ts"

const iphone =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
const columns = [
  "variant",
  "artifact_id",
  "page_url",
  "is_test",
  "device_type",
  "browser",
  "in_app",
  "language",
  "country",
  "region",
  "city",
]

onStoresInTurn("stamped columns", ({ start }) => {
  let host: TestHost
  let bench: Bench
  let url: string
  let count = 0
  before(async () => {
    host = await start({ env: { MILLRACE_INBOUND_GEO: "cloudflare" } })
    bench = new Bench(host)
    url = (await bench.make({ name: "Stamped", pipeline: [{ id: "save", type: "dataset.write", dataset_slug: "stamped", key: "k" }] }))
      .inbound_url
  })
  /** Returns the row of one event. */
  const rowOf = async (body: Record<string, unknown>, headers: Record<string, string> = {}) => {
    const k = `row-${++count}`
    const answer = await post(url, { k, ...body }, headers)
    expect(answer.status, answer.text).to.equal(200)
    return (await bench.rows("stamped")).find(({ values }) => values["k"] === k)?.values ?? {}
  }

  it("are all there, from the page's envelope, the request and the edge", async () => {
    const _envelope = { page_url: "https://acme.test/a?b=c", artifact_id: "page-1", variant: "B", utm_source: "ads" }
    const edge = { "cf-ipcountry": "de", "cf-region-code": "BE", "cf-ipcity": "Berlin" }
    const row = await rowOf({ _envelope }, { "user-agent": iphone, "accept-language": "en;q=0.5, de-DE", ...edge })
    expect(row).to.deep.include({
      variant: "B",
      artifact_id: "page-1",
      page_url: "https://acme.test/a?b=c",
      is_test: false,
      device_type: "mobile",
      browser: "safari",
      in_app: "",
      language: "de",
      country: "DE",
      region: "DE-BE",
      city: "Berlin",
    })
    expect(row).not.to.have.any.keys("_envelope", "utm_source")
  })

  it("are blank where there is no signal, and is_test is a boolean always", async () => {
    const row = await rowOf({}, { "user-agent": "", "accept-language": "" })
    for (const column of columns) expect(row[column], column).to.equal(column === "is_test" ? false : "")
  })

  it("give way to what the row maps itself, and fill what it leaves absent or null", async () => {
    const row = await rowOf(
      { country: "FR", city: "", language: null, browser: 0, _envelope: { variant: "A" }, variant: "mine" },
      { "user-agent": iphone, "cf-ipcountry": "DE" },
    )
    expect(row).to.include({ country: "FR", city: "", language: "", browser: 0, variant: "mine", device_type: "mobile" })
  })

  it("believe no edge that is not configured", async () => {
    const other = await start()
    const desk = new Bench(other)
    const pipeline = await desk.make({ name: "No edge", pipeline: [{ type: "dataset.write", dataset_slug: "no-edge" }] })
    await post(pipeline.inbound_url, { n: 1 }, { "cf-ipcountry": "DE", "x-vercel-ip-country": "DE" })
    expect((await desk.rows("no-edge"))[0]?.values).to.include({ country: "", region: "", city: "" })
  })

  const markers: [string, Record<string, unknown>, Record<string, string>, boolean][] = [
    ["the header 1", {}, { "x-service-test": "1" }, true],
    ["the header true", {}, { "x-service-test": "true" }, true],
    ["the header 0", {}, { "x-service-test": "0" }, false],
    ["the body", { is_test: true }, {}, true],
    ["the body's false", { is_test: false }, {}, false],
    ["the header over the body's false", { is_test: false }, { "x-service-test": "1" }, true],
  ]
  for (const [title, body, headers, expected] of markers) {
    it(`mark a test by ${title}: ${expected}`, async () => {
      expect((await rowOf(body, headers))["is_test"]).to.equal(expected)
      expect((await bench.newest("stamped")).is_test).to.equal(expected)
    })
  }

  it("mark a test by a form's field, of either encoding", async () => {
    for (const [value, expected] of Object.entries({ true: true, "1": true, no: false })) {
      const encoded = await answered(
        await fetch(url, { method: "POST", body: new URLSearchParams({ k: `form-${value}`, is_test: value, "_envelope.variant": "F" }) }),
      )
      expect(encoded.status).to.equal(200)
      const form = new FormData()
      for (const [name, text] of Object.entries({ k: `multi-${value}`, is_test: value, "_envelope.variant": "F", tag: "a" }))
        form.set(name, text)
      form.append("tag", "b")
      expect((await answered(await fetch(url, { method: "POST", body: form }))).status).to.equal(200)
      const rows = (await bench.rows("stamped")).filter(
        ({ values }) => String(values["k"]).endsWith(`-${value}`) && /^(form|multi)/.test(String(values["k"])),
      )
      expect(rows.map(({ values }) => [values["is_test"], values["variant"]])).to.deep.equal([
        [expected, "F"],
        [expected, "F"],
      ])
      expect(rows.find(({ values }) => String(values["k"]).startsWith("multi"))?.values["tag"]).to.deep.equal(["a", "b"])
    }
  })

  it("let the transform say it is a test, never that a marked one is none", async () => {
    const pipeline = await bench.make({
      name: "Says",
      transform_js: "function transform(event) { return { k: event.k, is_test: event.says } }",
      pipeline: [{ type: "dataset.write", dataset_slug: "says", key: "k" }],
    })
    const says: [unknown, boolean, boolean][] = [
      [true, false, true],
      [false, true, true],
      [false, false, false],
      ["yes", false, false],
    ]
    for (const [index, [message, marked, expected]] of says.entries()) {
      await post(pipeline.inbound_url, { k: String(index), says: message }, marked ? { "x-service-test": "1" } : {})
      expect((await bench.rows("says")).find(({ values }) => values["k"] === String(index))?.values["is_test"]).to.equal(expected)
    }
  })

  it("are known to the transform, with headers, query and the time of receipt", async () => {
    const pipeline = await bench.make({
      name: "Told",
      transform_js: `function transform(event, context) {
        const { envelope, headers, query, received_at } = context
        return { k: event.k, page: envelope.page_url ?? "none", agent: headers["x-kind"], step: query.step, at: received_at === new Date().toISOString() }
      }`,
      pipeline: [{ type: "dataset.write", dataset_slug: "told", key: "k" }],
    })
    await post(`${pipeline.inbound_url}?step=2`, { k: "1", _envelope: { page_url: "https://a.test/" } }, { "x-kind": "form" })
    await post(pipeline.inbound_url, { k: "2" })
    const reports = (await bench.rows("told")).map(({ values }) => values)
    expect(reports.find(({ k }) => k === "1")).to.include({ page: "https://a.test/", agent: "form", step: "2", at: true })
    expect(reports.find(({ k }) => k === "2")).to.include({ page: "none", at: true })
  })

  it("leave out fields of the envelope that are not as they should be, say so in the entry, and keep the row", async () => {
    const { status, body } = await post(url, {
      k: "odd",
      _envelope: { page_url: 5, variant: "v".repeat(500), session_id: "s", visitor_id: null },
    })
    expect([status, body.status]).to.deep.equal([200, "accepted"])
    const entry = await bench.newest("stamped")
    expect(entry).to.deep.include({ status: "accepted", cause: "", schema_errors: [] })
    expect(entry.warnings.map(({ pointer }) => pointer)).to.deep.equal(["/_envelope/page_url", "/_envelope/variant"])
    expect(entry.envelope).to.include({ session_id: "s" }).and.not.to.have.any.keys("page_url", "variant", "visitor_id")
    const row = (await bench.rows("stamped")).find(({ values }) => values["k"] === "odd")
    expect(row?.values).to.include({ page_url: "", variant: "" })
  })

  it("take strings of JSON for text, not for test markers", async () => {
    for (const marker of ["true", "1", 1]) {
      await post(url, { k: `marker-${marker}`, is_test: marker })
      expect((await bench.newest("stamped")).is_test, String(marker)).to.equal(false)
    }
  })

  it("mark what is rejected as its tags say", async () => {
    const { inbound_url } = await bench.make({ name: "Tagged", request_schema: { type: "object", required: ["n"] }, pipeline: [] })
    for (const [body, headers, expected] of [
      [{ is_test: true }, {}, true],
      [{}, { "x-service-test": "1" }, true],
      [{ is_test: "true" }, {}, false],
    ] as const) {
      expect((await post(inbound_url, body, headers)).status).to.equal(400)
      expect((await bench.newest("tagged")).is_test).to.equal(expected)
    }
    expect(await bench.entries("tagged", "?is_test=true")).to.have.length(2)
  })

  it("take a viewer's claims over the body's envelope", async () => {
    const pipeline = await bench.make({
      name: "Viewed",
      auth_mode: "authenticated_viewer",
      transform_js: "function transform(event, context) { return { k: event.k, told: context.envelope.visitor_id } }",
      pipeline: [
        {
          type: "dataset.write",
          dataset_slug: "viewed",
          key: "k",
          row: { k: "{{ event.k }}", told: "{{ event.told }}", visitor: "{{ envelope.visitor_id }}" },
        },
      ],
    })
    const page = await host.api<{ id: string }>("POST", "/v1/pages", {
      title: "Landing",
      variants: ["control", "bold"].map((key) => ({ key, html: "<p>Hi</p>" })),
    })
    expect(page.status, JSON.stringify(page.body)).to.equal(200)
    const artifact_id = page.body.id
    const session = await host.api<{ token: string }>("POST", "/v1/viewer-sessions", {
      visitor_id: "visitor-1",
      variant: "bold",
      artifact_id,
    })
    expect(session.status, JSON.stringify(session.body)).to.equal(200)
    const forged = { artifact_id: "forged", visitor_id: "forged", variant: "forged", page_url: "https://a.test/" }
    const answer = await post(pipeline.inbound_url, { k: "1", _envelope: forged }, { authorization: `Bearer ${session.body.token}` })
    expect(answer.status, answer.text).to.equal(200)
    expect((await bench.rows("viewed"))[0]?.values).to.include({
      visitor: "visitor-1",
      told: "visitor-1",
      variant: "bold",
      page_url: "https://a.test/",
      artifact_id,
    })
    expect((await post(pipeline.inbound_url, { k: "2" })).status).to.equal(401)
    expect((await post(pipeline.inbound_url, { k: "2" }, { cookie: `mr_viewer=${session.body.token}` })).status).to.equal(200)
    expect(JSON.stringify(await bench.newest("viewed"))).not.to.include(session.body.token)
  })
})
