// Forms of pages. A submission to a page's address belongs to that page, independent of its body. A refused submission returns to
// the visitor.
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect } from "chai"
import { chooseVariant } from "../../../plugins/pages/pages/index.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { desktopChrome, Loop, type Published } from "../page-events/loop.ts"
import { asHtml, asJson, capture, post, withForm } from "./sent-forms.ts"

const two = [
  { key: "a", html: "<h1>A</h1>", weight: 1 },
  { key: "b", html: "<h1>B</h1>", weight: 1 },
]

/** Returns the text escaped as HTML. */
const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

describe("a form that the pipeline refuses", () => {
  let loop: Loop
  let page: Published
  before(async () => {
    loop = await Loop.start()
    page = await loop.publish(withForm)
  })
  after(() => loop.host.stop())

  it("comes back to who sent it with what is wrong by field, what they typed, and a way to send it again", async () => {
    const request_schema = {
      type: "object",
      required: ["email", "number"],
      properties: { email: { type: "string", format: "email" } },
    }
    const { rows } = await capture(loop, page, () => ({ request_schema }))
    const typed = { email: 'ada"><script>alert(1)</script>', note: "two\nlines & more", "_envelope.utm_source": "letter" }
    const refused = await post(loop, page.path, new URLSearchParams(typed), asHtml)
    const html = await refused.text()
    expect(refused.status).to.equal(400)
    expect(html).to.include("<title>Not sent</title>").and.not.to.include("<script")
    expect(html).to.include(`<input name="email" value="${escaped(typed.email)}"`)
    expect(html).to.match(/<label>email<strong[^>]*>[^<]*email[^<]*<\/strong>/)
    expect(html).to.match(/<label>number<strong[^>]*>[^<]+<\/strong><input name="number" value=""/)
    expect(html).to.include(`${escaped(typed.note)}</textarea>`)
    expect(html).to.include('<input type="hidden" name="_envelope.utm_source" value="letter">')
    expect(html).to.include(`<form action="${page.path}" method="post">`)
    expect(refused.headers.get("content-security-policy")).to.include("default-src 'none'").and.to.include(`form-action ${loop.host.url}`)
    expect(refused.headers.get("content-security-policy")).to.include("allow-forms").and.not.to.include("allow-scripts")
    expect(await rows()).to.deep.equal([])
    const again = await post(loop, page.path, new URLSearchParams({ ...typed, email: "ada@acme.test", number: "1" }), asHtml)
    expect([again.status, (await rows())[0]?.["utm_source"]]).to.deep.equal([303, "letter"])
    const answered = await post(loop, page.path, JSON.stringify({ email: "x" }), asJson)
    expect([answered.status, answered.headers.get("content-type")?.split(";")[0]]).to.deep.equal([400, "application/json"])
  })
})

describe("a form whose pipeline cannot do what it should", () => {
  let loop: Loop
  before(async () => {
    loop = await Loop.start({ capture: false, env: { MILLRACE_OUTGOING_ALLOW_HOSTS: "127.0.0.1" } })
  })
  after(() => loop.host.stop())

  it("comes back with what was typed, to be sent again, once what it needs is there", async () => {
    let down = true
    const desk = createServer((_request, response) => response.writeHead(down ? 500 : 200).end("{}")).listen(0, "127.0.0.1")
    await once(desk, "listening")
    try {
      const page = await loop.publish(withForm)
      const url = `http://127.0.0.1:${(desk.address() as AddressInfo).port}/leads`
      const { slug, rows } = await capture(loop, page, (dataset) => ({
        pipeline: [
          {
            id: "desk",
            type: "http.request",
            await: true,
            retry: { max_attempts: 1 },
            method: "POST",
            url,
            body: { email: "{{ event.email }}" },
          },
          { id: "save", type: "dataset.write", dataset_slug: dataset, key: "email" },
        ],
      }))
      const typed = { email: "ada@acme.test", note: "two\nlines & more", "_envelope.utm_source": "letter" }
      const failed = await post(loop, page.path, new URLSearchParams(typed), asHtml)
      const html = await failed.text()
      expect([failed.status, failed.headers.get("content-type")]).to.deep.equal([500, "text/html; charset=utf-8"])
      expect(html).to.include("nothing was saved").and.to.include('<input name="email" value="ada@acme.test"')
      expect(html)
        .to.include(`${escaped(typed.note)}</textarea>`)
        .and.to.include(`<form action="${page.path}" method="post">`)
      expect(html, "what is the service's own affair").not.to.include("/leads").and.not.include("http.request")
      expect(await rows()).to.deep.equal([])
      down = false
      const again = await post(loop, page.path, new URLSearchParams(typed), asHtml)
      expect([again.status, again.headers.get("location")]).to.deep.equal([303, `${page.path}#thank-you`])
      expect((await rows()).map(({ email, note }) => [email, note])).to.deep.equal([[typed.email, typed.note]])
      expect(html).to.include('<input type="hidden" name="_envelope.utm_source" value="letter">')
      // The log has the pipeline's answer for both, independent of the visitor's page.
      const entries = await Promise.all(
        (await loop.executions(slug)).map(({ id }) => loop.call("GET", `/v1/event-pipelines/${slug}/executions/${id as string}`)),
      )
      expect(entries.map(({ status, response }) => [status, (response as { status: number }).status])).to.deep.equal([
        ["accepted", 200],
        ["failed", 500],
      ])
    } finally {
      desk.close()
    }
  })
})

describe("a form whose pipeline answers for itself that it cannot", () => {
  it("comes back with what was typed as well, unless that would be refused again", async () => {
    const loop = await Loop.start()
    try {
      const page = await loop.publish(withForm)
      const { slug, dataset } = await capture(loop, page)
      const answers = (status: number) =>
        loop.call("PUT", `/v1/event-pipelines/${slug}`, {
          pipeline: [
            { id: "save", type: "dataset.write", dataset_slug: dataset, key: "email" },
            { type: "respond", status, body: "desk-7 is down" },
          ],
        })
      const typed = new URLSearchParams({ email: "ada@acme.test" })
      for (const [status, isKept] of [
        [502, true],
        [503, true],
        [429, true],
        [403, false],
      ] as const) {
        await answers(status)
        const answer = await post(loop, page.path, typed, asHtml)
        const html = await answer.text()
        expect(answer.status).to.equal(status)
        expect(html.includes('<input name="email" value="ada@acme.test"'), String(status)).to.equal(isKept)
        expect(html.includes("Please try again in a moment"), String(status)).to.equal(isKept)
        expect(html).not.to.include("desk-7")
        const script = await post(loop, page.path, typed, { accept: "application/json" })
        expect([script.status, await script.text()]).to.deep.equal([status, "desk-7 is down"])
      }
    } finally {
      await loop.host.stop()
    }
  })
})

describe("what is sent to a page's address", () => {
  let loop: Loop
  let page: Published
  let other: Published
  before(async () => {
    loop = await Loop.start()
    page = await loop.publish(two)
    other = await loop.publish(two)
  })
  after(() => loop.host.stop())

  const openPage = async (agent: string, headers: Record<string, string> = {}) => {
    const text = await (await fetch(loop.host.url + page.path, { headers: { "user-agent": agent, ...headers } })).text()
    const fieldOf = (name: string) => new RegExp(`${name}&quot;:&quot;([^&]*)`).exec(text)?.[1]
    return { variant: /<h1>(\w)/.exec(text)?.[1]?.toLowerCase(), visitor_id: fieldOf("visitor_id"), session_id: fieldOf("session_id") }
  }
  const multipart = (fields: Record<string, string>) => {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.append(name, value)
    return form
  }
  const ofPage = () => ({ artifact_id: page.id, page_url: loop.host.url + page.path })

  for (const auth_mode of ["public_artifact", "none"]) {
    it(`is of that page, in the variant and session that it is shown in, without an envelope (${auth_mode})`, async () => {
      const { rows } = await capture(loop, page, () => ({ auth_mode }))
      const bodies: [body: string | URLSearchParams | FormData, headers: Record<string, string>][] = [
        [new URLSearchParams({ email: "form@a.b" }), {}],
        [multipart({ email: "multi@a.b" }), {}],
        [JSON.stringify({ email: "json@a.b" }), asJson],
        [' { "email": "text@a.b", "number": 12345678901234567890 } \n', { "content-type": "text/plain" }],
        [JSON.stringify({ email: "empty@a.b", _envelope: { variant: "", artifact_id: "" } }), asJson],
      ]
      const agent = `${desktopChrome} ${auth_mode}`
      const view = await openPage(agent)
      for (const [body, headers] of bodies) {
        const answer = await post(loop, `${page.path}?utm_source=letter`, body, { ...headers, "user-agent": agent })
        expect([answer.status, await answer.text()].join(" ")).to.match(/^200 .*accepted/)
      }
      const storedRows = await rows()
      expect(storedRows.map(({ email }) => email)).to.have.members(["form@a.b", "multi@a.b", "json@a.b", "text@a.b", "empty@a.b"])
      for (const row of storedRows) expect(row, String(row["email"])).to.deep.include({ ...ofPage(), ...view, utm_source: "letter" })
      expect(storedRows.find(({ email }) => email === "text@a.b")?.["number"]).to.equal("12345678901234567890")
    })
  }

  it("is of that page, though the body names another, and keeps what the body says else", async () => {
    const { rows } = await capture(loop, page)
    const lie = { artifact_id: other.id, page_url: loop.host.url + other.path, variant: "never" }
    const truth = { visitor_id: "visitor-of-the-body", session_id: "session-of-the-body", utm_source: "body" }
    const chosen = chooseVariant(two, truth.visitor_id, page.id)?.key
    const unlike = chosen === "a" ? "b" : "a"
    const flat = (envelope: object) =>
      Object.fromEntries(Object.entries(envelope).map(([name, value]) => [`_envelope.${name}`, String(value)]))
    const lied = { ...lie, ...truth }
    const send = async (body: string | URLSearchParams | FormData, headers = {}) =>
      expect((await post(loop, `${page.path}?utm_source=address`, body, headers)).status).to.equal(200)
    await send(new URLSearchParams({ email: "form@a.b", ...flat(lied) }))
    await send(multipart({ email: "multi@a.b", ...flat(lied) }))
    await send(JSON.stringify({ _envelope: lied, email: "json@a.b" }), asJson)
    await send(JSON.stringify({ ...flat(lied), email: "flat@a.b" }), asJson)
    await send(new URLSearchParams({ email: "known@a.b", ...flat({ ...truth, variant: unlike }) }))
    const storedRows = await rows()
    expect(storedRows).to.have.length(5)
    for (const row of storedRows) {
      expect(row, String(row["email"])).to.deep.include({ ...ofPage(), ...truth, variant: row["email"] === "known@a.b" ? unlike : "" })
    }
  })

  it("tells of no visitor who sends Global Privacy Control, nor of one whom only a cookie would tell of", async () => {
    const { rows } = await capture(loop, page)
    const agent = `${desktopChrome} private`
    const { variant } = await openPage(agent, { "sec-gpc": "1" })
    await post(loop, page.path, new URLSearchParams({ email: "private@a.b" }), { "sec-gpc": "1", "user-agent": agent })
    expect((await rows())[0]).to.deep.include({ ...ofPage(), variant, visitor_id: null, session_id: null })
    const byCookie = await Loop.start({ env: pluginSettings({ pages: { visitor_cookie: true } }) })
    try {
      const cookied = await byCookie.publish(two)
      const captured = await capture(byCookie, cookied)
      await post(byCookie, cookied.path, new URLSearchParams({ email: "none@a.b" }))
      const visitor_id = "AbCdEfGhIjKlMnOpQrStUv"
      await post(byCookie, cookied.path, new URLSearchParams({ email: "some@a.b" }), { cookie: `mr_visitor=${visitor_id}` })
      const rowOf = async (email: string) => (await captured.rows()).find((row) => row["email"] === email)
      expect(await rowOf("none@a.b")).to.deep.include({ artifact_id: cookied.id, variant: "", visitor_id: null, session_id: null })
      expect(await rowOf("some@a.b")).to.deep.include({ visitor_id, variant: chooseVariant(two, visitor_id, cookied.id)?.key })
    } finally {
      await byCookie.host.stop()
    }
  })

  it("is kept where no file was chosen for a field that takes one", async () => {
    const { slug, rows } = await capture(loop, page)
    const unchosen = 'Content-Disposition: form-data; name="cv"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n'
    const email = 'Content-Disposition: form-data; name="email"\r\n\r\nnofile@a.b'
    const body = `--x\r\n${unchosen}\r\n--x\r\n${email}\r\n--x--\r\n`
    const answer = await post(loop, page.path, body, { ...asHtml, "content-type": "multipart/form-data; boundary=x" })
    expect([answer.status, (await rows()).map((row) => row["email"])]).to.deep.equal([303, ["nofile@a.b"]])
    await loop.call("PUT", `/v1/event-pipelines/${slug}`, { state: "disabled" })
  })

  it("is refused as ever where it cannot be read or is too much, and nobody is told to try what cannot succeed", async () => {
    const { slug, rows } = await capture(loop, page)
    for (const [body, headers] of [
      ['{"email": ', asJson],
      ["[1]", asJson],
      [new URLSearchParams(Array.from({ length: 1_001 }, (_, n): [string, string] => [`f${n}`, ""])), {}],
    ] as const) {
      const answer = await post(loop, page.path, body, { ...headers, ...asHtml })
      expect(answer.status).to.be.within(400, 499)
      expect(await answer.text())
        .not.to.include("try again")
        .and.not.include("moment")
    }
    const large = await post(loop, page.path, new URLSearchParams({ email: "x".repeat(1_048_577) }), asHtml)
    expect(large.status).to.equal(413)
    expect(await rows()).to.deep.equal([])
    await loop.call("PUT", `/v1/event-pipelines/${slug}`, { state: "disabled" })
  })
})
