// Screenshots for callers: the picture matches the request, and errors are reported.
import { once } from "node:events"
import { connect } from "node:net"
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { type Bucket, Buckets } from "../../../plugins/data/buckets/index.ts"
import { browserFolder } from "../../chromium.ts"
import { untilProcess as until } from "../../waiting.ts"
import { onBothBuckets } from "../buckets/stores.ts"
import { type Site, startSite } from "./site.ts"
import { finished, keyElsewhere, pictureOf, type Refusal, resultOf, start, startTaking, take } from "./taking.ts"

const red = [255, 0, 0]
const green = [0, 128, 0]
const blue = [0, 0, 255]

const form = `
  <style>body { background: blue } #late { display: none }</style>
  <input id="name"><button id="go" onclick="late.style.display = 'block'">Go</button>
  <div id="late" style="position:absolute;left:0;top:100px;width:100px;height:100px;background:red"></div>
  <div style="position:absolute;left:0;top:4000px;width:100px;height:50px;background:green"></div>
  <script>
    document.querySelector("#name").addEventListener("input", (event) => {
      if (event.target.value === "Ada") document.body.style.background = "green"
    })
  </script>`

describe("screenshots", () => {
  let site: Site
  let host: TestHost
  let otherKey: string
  before(async () => {
    site = await startSite({
      "/form": form,
      "/told": `<style>body { background: blue } section { height: 600px; background: white; opacity: 0 }</style>
        <section></section><section></section><section></section><section id="last"></section>
        <select id="size"><option value="s">Small</option><option value="l">Large</option></select><input type="checkbox" id="yes">
        <p>日本語 and letters</p>
        <script>
          const observer = new IntersectionObserver((seen) => {
            for (const { isIntersecting, target } of seen) if (isIntersecting) Object.assign(target.style, { opacity: 1, background: "red" })
          })
          document.querySelectorAll("section").forEach((section) => observer.observe(section))
          document.addEventListener("change", () => {
            if (size.value === "l" && yes.checked) document.body.style.background = "green"
          })
        </script>`,
      "/grown": "<style>html { height: 90000px; background: red }</style>",
      "/status": (_request, response) => void response.writeHead(500, { "content-type": "text/html" }).end('<body style="background:red">'),
      "/socket": `<script>
        const socket = new WebSocket("ws://" + location.host + "/echo")
        socket.onmessage = (event) => {
          document.body.style.background = event.data === "hi" ? "green" : "red"
          document.body.innerHTML = '<p id="heard">Heard</p>'
        }
      </script>`,
    })
    host = await startTaking({ allow: [site.host], settings: { keep_hours: 1 } })
    otherKey = await keyElsewhere(host)
  })
  after(async () => {
    await host?.stop()
    await site?.close()
  })

  it("shows all of a page whose sections appear when scrolled to, chooses and checks, and tells status and missing fonts", async () => {
    const instructions = [
      { action: "choose", selector: "#size", label: "Large" },
      { action: "check", selector: "#yes" },
    ]
    const result = await take(host, { url: `${site.origin}/told`, viewport: { width: 400, height: 300 }, full_page: true, instructions })
    const picture = await pictureOf(result)
    for (const y of [300, 900, 1_500, 2_100]) expect(picture.at(200, y), `section at ${y}`).to.deep.equal(red)
    expect(picture.at(390, picture.height - 2)).to.deep.equal(green)
    expect(result.http_status).to.equal(200)
    // Only if the machine has no font for it.
    for (const warning of result.warnings) expect(warning).to.match(/^missing_glyphs: .*Han/)
    const missing = await take(host, { url: `${site.origin}/nothing-here` })
    expect([missing.status, missing.http_status]).to.deep.equal(["done", 404])
  })

  it("pictures the viewport, and answers with every field and nothing else", async () => {
    const before = Date.now()
    const result = await take(host, { url: `${site.origin}/form`, viewport: { width: 400, height: 300 } })
    const picture = await pictureOf(result)
    expect([picture.width, picture.height]).to.deep.equal([400, 300])
    expect(picture.at(300, 200)).to.deep.equal(blue)
    expect(Object.keys(result).sort()).to.deep.equal([
      "bucket_key",
      "error",
      "expires_at",
      "height",
      "http_status",
      "job_id",
      "media_type",
      "signed_url",
      "status",
      "warnings",
      "width",
    ])
    expect([result.http_status, result.warnings]).to.deep.equal([200, []])
    expect(result.media_type).to.equal("image/png")
    expect(result.bucket_key).to.equal(`screenshots/${result.job_id}.png`)
    const life = Date.parse(result.expires_at) - before
    expect(life).to.be.within(3_600_000, 3_700_000)
  })

  it("carries out instructions in order, and pictures what they left", async () => {
    const result = await take(host, {
      url: `${site.origin}/form`,
      viewport: { width: 400, height: 300 },
      instructions: [
        { action: "fill", selector: "#name", value: "Ada" },
        { action: "click", selector: "#go" },
        { action: "wait", selector: "#late" },
        { action: "wait", ms: 1 },
      ],
    })
    const picture = await pictureOf(result)
    expect(picture.at(300, 200)).to.deep.equal(green)
    expect(picture.at(50, 150)).to.deep.equal(red)
  })

  it("scrolls, and pictures pages that are longer than the window whole, as far as an image may reach", async () => {
    const [scrolled, whole, endless] = await Promise.all([
      take(host, { url: `${site.origin}/form`, viewport: { width: 400, height: 300 }, instructions: [{ action: "scroll", to: "bottom" }] }),
      take(host, { url: `${site.origin}/form`, viewport: { width: 300, height: 200, device_scale_factor: 2 }, full_page: true }),
      take(host, { url: `${site.origin}/grown`, viewport: { width: 200, height: 200 }, full_page: true }),
    ])
    expect((await pictureOf(scrolled)).at(50, 275)).to.deep.equal(green)
    const all = await pictureOf(whole)
    expect([all.width, all.height]).to.deep.equal([600, 8_100])
    expect(all.at(100, 8_050)).to.deep.equal(green)
    expect(all.at(100, 300)).to.deep.equal(blue)
    const most = await pictureOf(endless)
    expect([most.width, most.height]).to.deep.equal([200, 16_384])
    expect(most.at(100, 16_300)).to.deep.equal(red)
  })

  it("pictures error pages as they are, and pages that use websockets", async () => {
    const actions = [{ action: "wait", selector: "#heard" }]
    const [failed, socket] = await Promise.all([
      take(host, { url: `${site.origin}/status` }),
      take(host, { url: `${site.origin}/socket`, instructions: actions }),
    ])
    expect((await pictureOf(failed)).at(600, 600)).to.deep.equal(red)
    expect((await pictureOf(socket)).at(600, 600)).to.deep.equal(green)
  })

  it("pictures a variant of a page of one's own, published or not, and only one's own", async () => {
    const variants = [
      { key: "control", html: '<body style="background:red">' },
      { key: "bold", html: '<body style="background:green">' },
    ]
    expect((await host.api("POST", "/v1/pages", { title: "Spring sale", variants })).status).to.be.oneOf([200, 201])
    const [bold, first] = await Promise.all([take(host, { page: "spring-sale", variant: "bold" }), take(host, { page: "spring-sale" })])
    expect((await pictureOf(bold)).at(600, 600)).to.deep.equal(green)
    expect((await pictureOf(first)).at(600, 600)).to.deep.equal(red)
    const unknown = await start(host, { page: "spring-sale", variant: "italic" })
    expect([unknown.status, unknown.body.code]).to.deep.equal([400, "invalid_argument"])
    expect(unknown.body.message).to.match(/italic.*control, bold/)
    const foreign = await start(host, { page: "spring-sale" }, otherKey)
    expect([foreign.status, foreign.body.code]).to.deep.equal([404, "not_found"])
  })

  it("pictures a page of one's own in the sandbox that visitors get it in", async () => {
    const script = `let open = location.origin
      try { localStorage.setItem("x", "y"); open = "storage" } catch { open = "" }
      document.body.style.background = open || globalThis.origin !== "null" ? "red" : "green"`
    const html = `<body style="background:blue"><img src="${site.origin}/picture"><script>${script}</script>`
    const { body } = await host.api<{ slug: string }>("POST", "/v1/pages", { title: "Sandboxed", variants: [{ key: "a", html }] })
    expect((await pictureOf(await take(host, { page: body.slug }))).at(600, 600)).to.deep.equal(green)
    expect(site.asked).not.to.include("/picture")
  })

  it("names the instruction that could not be carried out, and keeps no picture", async () => {
    const result = await take(host, {
      url: `${site.origin}/form`,
      instructions: [
        { action: "click", selector: "#go" },
        { action: "click", selector: "#nowhere" },
      ],
    })
    expect(result.status).to.equal("failed")
    expect(result.error).to.match(/^instructions\[1\] \(click\).*#nowhere/)
    expect([result.bucket_key, result.signed_url, result.expires_at, result.width]).to.deep.equal(["", "", "", 0])
  })

  it("says why a page did not come", async () => {
    // No server can listen at a client's port.
    const client = connect(site.port, "127.0.0.1")
    await once(client, "connect")
    const closed = `127.0.0.1:${client.localPort}`
    const open = await startTaking({ allow: [closed] })
    try {
      const result = await take(open, { url: `http://${closed}/` })
      expect([result.status, result.error]).to.deep.equal(["failed", `The call to ${closed} failed (ECONNREFUSED).`])
    } finally {
      await open.stop()
      client.destroy()
    }
  })

  it("refuses what makes no sense, naming the field", async () => {
    const url = `${site.origin}/form`
    const click = { action: "click", selector: "a" }
    const wrong: [Record<string, unknown>, RegExp][] = [
      [{}, /Give one of url and page/],
      [{ url, page: "x" }, /Give one of url and page/],
      [{ url, variant: "x" }, /variant/],
      [{ url: "file:///etc/passwd" }, /file:/],
      [{ url: "javascript:alert(1)" }, /javascript:/],
      [{ url: "/relative" }, /absolute/],
      [{ url: "http://me:secret@example.com/" }, /user name or password/],
      [{ url, viewport: { width: 10 } }, /viewport\.width/],
      [{ url, instructions: Array(21).fill(click) }, /instructions/],
      [{ url, instructions: [{ action: "eval", script: "1" }] }, /instructions/],
      [{ url, instructions: [{ action: "wait", ms: 60_000 }] }, /instructions/],
      [{ url, instructions: [{ action: "scroll" }] }, /instructions/],
      [{ url, size: 3 }, /size/],
    ]
    const requestCount = site.asked.length
    for (const [input, pattern] of wrong) {
      const { status, body } = await start(host, input)
      expect([JSON.stringify(input), status, body.code]).to.deep.equal([JSON.stringify(input), 400, "invalid_argument"])
      expect(JSON.stringify(body)).to.match(pattern)
      expect(JSON.stringify(body)).not.to.contain("secret")
    }
    expect(site.asked).to.have.length(requestCount)
  })

  it("knows no job of another organization, nor one that never was", async () => {
    const result = await take(host, { url: `${site.origin}/form` })
    const ask = (job_id: string, key: string) => host.api<Refusal>("POST", "/v1/screenshot/result", { job_id }, { key })
    expect((await ask(result.job_id, host.adminKey)).status).to.equal(200)
    const foreign = await ask(result.job_id, otherKey)
    expect([foreign.status, foreign.body.code]).to.deep.equal([404, "not_found"])
    expect(JSON.stringify(foreign.body)).not.to.contain("signature")
    expect((await ask("no-such-job", host.adminKey)).status).to.equal(404)
  })
})

onBothBuckets("screenshots: where images are kept", (leg) => {
  let site: Site
  before(async () => {
    site = await startSite({ "/": "<style>body { background: red }</style>" })
  })
  after(() => site?.close())

  it("links to the image for its life, then says expired and keeps it no longer", async () => {
    const settings = { screenshots: { keep_hours: 1, browser_folder: browserFolder, deadline_ms: 300_000 } }
    const host = await leg.start(settings, { MILLRACE_OUTGOING_ALLOW_HOSTS: site.host })
    const result = await take(host, { url: `${site.origin}/` })
    expect((await pictureOf(result)).at(600, 600)).to.deep.equal(red)
    const tampered = await fetch(result.signed_url.replace(/(ignature=)(.)/, (_all, name, first) => name + (first === "a" ? "b" : "a")))
    expect(tampered.status).to.equal(403)
    host.clock.move(Date.parse(result.expires_at) - host.clock.now() - 60_000)
    expect((await resultOf(host, result.job_id)).status).to.equal("done")
    host.clock.move(60_000)
    const later = await resultOf(host, result.job_id)
    expect([later.status, later.bucket_key, later.signed_url, later.error]).to.deep.equal(["expired", "", "", ""])
    expect(later.expires_at).to.equal(result.expires_at)
    const bucket = host.get(Buckets).open(host.organization.id)
    await until("the picture being removed", async () => !(await present(bucket, result.bucket_key)))
    expect((await fetch(result.signed_url)).ok).to.equal(false)
    expect((await finished(host, result.job_id)).status).to.equal("expired")
  })
})

async function present(bucket: Bucket, key: string): Promise<boolean> {
  const match = await bucket.get(key)
  await match?.chunks[Symbol.asyncIterator]().return?.()
  return match !== undefined
}
