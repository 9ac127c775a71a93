// Forms that lose entered data, completely or in one field: both the visitor and the page's author are informed.
import { expect } from "chai"
import { desktopChrome, Loop, type Published } from "../page-events/loop.ts"
import { asHtml, asJson, capture, post, withForm } from "./sent-forms.ts"

describe("a page whose form nothing takes", () => {
  let loop: Loop
  before(async () => {
    loop = await Loop.start()
  })
  after(() => loop.host.stop())

  it("is served with a form that keeps what is entered out of the address", async () => {
    const page = await loop.publish([
      { key: "a", html: '<form id="f" method=""></form><form id="search" method="get"><input name="q"></form>' },
    ])
    const text = await (await fetch(loop.host.url + page.path, { headers: { "user-agent": desktopChrome } })).text()
    expect(text).to.include(`<form action="${page.path}" method="post" id="f" method="">`)
    expect(text).to.include('<form id="search" method="get"><input name="q"></form>')
  })

  it("tells people and programs that nothing was sent", async () => {
    const page = await loop.publish(withForm)
    const response = await post(loop, page.path, new URLSearchParams({ email: "a@b.c" }), asHtml)
    expect([response.status, response.headers.get("content-type"), response.headers.get("location")]).to.deep.equal([
      404,
      "text/html; charset=utf-8",
      null,
    ])
    expect(await response.text())
      .to.include("not connected yet")
      .and.to.include(page.path)
      .and.not.include("a@b.c")
    const answered = await post(loop, page.path, JSON.stringify({ email: "a@b.c" }), asJson)
    const body = (await answered.json()) as { code: string; details: { reason: string } }
    expect([answered.status, body.code, body.details.reason]).to.deep.equal([404, "not_found", "form_not_connected"])
  })

  it("comes with a warning where it is published, read and changed, until a pipeline takes it", async () => {
    type Checked = Published & { warnings: string[] }
    const { slug, id } = await loop.call<Published>("POST", "/v1/pages", { title: "Unconnected", variants: withForm })
    const read = async () => (await loop.call<Checked>("GET", `/v1/pages/${slug}`)).warnings
    expect(await read()).to.deep.equal([])
    const { warnings } = await loop.call<Checked>("POST", `/v1/pages/${slug}/publish`)
    expect(warnings).to.have.length(1)
    expect(warnings[0])
      .to.match(/^form_not_connected: /)
      .and.to.include("control")
      .and.to.include(id)
    expect(await read()).to.deep.equal(warnings)
    const created = await capture(loop, { slug, id, path: "" })
    expect(await read()).to.deep.equal([])
    await loop.call("PUT", `/v1/event-pipelines/${created.slug}`, { state: "disabled" })
    expect(await read()).to.deep.equal(warnings)
    const changed = await loop.call<Checked>("PATCH", `/v1/pages/${slug}`, { variants: [{ key: "a", html: "<h1>A</h1>" }] })
    expect(changed.warnings).to.deep.equal([])
    const search = [{ key: "control", html: '<form method="get">' }]
    expect((await loop.call<Checked>("PATCH", `/v1/pages/${slug}`, { variants: search })).warnings).to.deep.equal([])
  })
})

const warned = (texts: readonly string[], rule: string) => texts.filter((text) => text.startsWith(`${rule}: `))

describe("a page whose form has fields that are not kept", () => {
  let loop: Loop
  before(async () => {
    loop = await Loop.start()
  })
  after(() => loop.host.stop())
  const warnings = async (...forms: string[]) => {
    const page = await loop.publish(forms.map((html, n) => ({ key: `v${n}`, html })))
    await capture(loop, page)
    return (await loop.call<{ warnings: string[] }>("GET", `/v1/pages/${page.slug}`)).warnings
  }

  it("comes with a warning for each variant that asks for files", async () => {
    const texts = await warnings(
      '<form enctype="multipart/form-data"><input name=email><input name=cv TYPE=File></form>',
      "<form id=f></form><input type=file name=photo form=f><input type=file name=other form=g>",
      "<form><input type=file></form><form method=get><input type=file name=search></form><input type=file name=loose>",
    )
    const [first, second, ...more] = warned(texts, "form_takes_file")
    expect(more).to.deep.equal([])
    expect(first).to.match(/^form_takes_file: .*v0 .*\(cv\)/)
    expect(second).to.match(/^form_takes_file: .*v1 .*\(photo\)/)
  })

  it("comes with a warning for fields without a name, which no browser sends", async () => {
    const [first, second, third, ...more] = await warnings(
      '<form id="contactForm"><input id="name" type="text"><input id="email" type="email"><button type="submit">Send</button></form>',
      '<form id=f><input name=email></form><textarea placeholder="Your message" form=f></textarea><select form=f></select>',
      '<form><input type=checkbox name=""><input type=file id=cv><input name=email></form>',
      "<form><input type=submit><input type=image><input type=hidden><button>Go</button><input name=email></form><input id=loose>",
      "<form method=get><input id=q></form><form><input name=email></form>",
    )
    expect(more).to.deep.equal([])
    expect(first).to.match(/^field_without_name: .*v0 .*\(name, email\)/)
    expect(second).to.match(/^field_without_name: .*v1 .*\(Your message, select\)/)
    expect(third).to.match(/^field_without_name: .*v2 .*\(checkbox, cv\)/)
  })

  it("comes with the warning as a draft, in the answers of create, change and publish", async () => {
    type Checked = Published & { warnings: string[] }
    const variants = [{ key: "a", html: "<form><input id=email></form>" }]
    const created = await loop.call<Checked>("POST", "/v1/pages", { title: "Draft", variants })
    expect(warned(created.warnings, "field_without_name")).to.have.length(1)
    expect(created.warnings).to.have.length(1)
    const at = `/v1/pages/${created.slug}`
    const changed = await loop.call<Checked>("PATCH", at, { title: "Draft of a form" })
    expect(changed.warnings).to.deep.equal(created.warnings)
    const published = await loop.call<Checked>("POST", `${at}/publish`)
    expect(warned(published.warnings, "field_without_name")).to.deep.equal(created.warnings)
    const mended = await loop.call<Checked>("PATCH", at, { variants: [{ key: "a", html: "<form><input id=email name=email></form>" }] })
    expect(warned(mended.warnings, "field_without_name")).to.deep.equal([])
    const archived = await loop.call<Checked>("PATCH", at, { variants, status: "archived" })
    expect(archived.warnings).to.deep.equal([])
  })

  it("comes with a warning for the encoding text/plain", async () => {
    const form = '<form enctype="Text/Plain"><input name=email></form>'
    expect(await warnings(form, '<form enctype="multipart/form-data"><input name=email></form>')).to.deep.equal([
      'form_is_plain: A form of v0 has enctype="text/plain", and its submissions are refused. Remove the attribute.',
    ])
  })

  it("comes with a warning for names that cannot be columns, and stores them under other names", async () => {
    const form = '<form><input name="contact.email"><textarea name=$note></textarea><input type=image name=go><input name="a[b]"></form>'
    const [warning, ...more] = await warnings(form, '<form><input name="_envelope.utm_source"><input name=email></form>')
    expect(more).to.deep.equal([])
    expect(warning)
      .to.match(/^field_name: .*v0 /)
      .and.to.include("contact.email holds a dot")
      .and.include("$note starts with $")
      .and.include("go.x holds a dot")
      .and.not.include("a[b]")
    const page = await loop.publish([{ key: "a", html: form }])
    const { rows } = await capture(loop, page, (dataset_slug) => ({ pipeline: [{ type: "dataset.write", dataset_slug }] }))
    const response = await post(loop, page.path, new URLSearchParams({ "contact.email": "a@b.c" }), asHtml)
    expect(response.status).to.equal(303)
    expect((await rows())[0]).to.include({ contact_email: "a@b.c" })
  })
})
