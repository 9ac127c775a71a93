// Views of a judge and a persona, byte for byte, of pages rendered by Chromium: a visitor's view without any sign of the variant,
// its author or the experiment.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { browserFolder } from "../../chromium.ts"
import { type ModelRequest, type ModelServer, modelServer } from "../models/model-server.ts"
import { decodePng } from "../screenshots/pixels.ts"

interface Observation {
  readonly kind: string
  readonly details: Record<string, unknown> & { readonly shown?: Record<string, { readonly text_from: string; readonly image: boolean }> }
}

/** Words that name the variant, its author or the experiment, in every hidden part of a page. */
const secret = "zweitfassung"
const author = "hildegard"
const pageOf = (colour: string, merit: number) => `<!doctype html>
<html data-variant="${secret}"><head><title>${secret} by ${author}</title><meta name="author" content="${author}">
<style>body { background: ${colour}; margin: 0 } .away { position: absolute; left: -9999px } .tiny { width: 1px; height: 1px; overflow: hidden }</style></head>
<body id="${secret}" class="${secret}"><!-- ${secret} by ${author} -->
<h1 id="headline"></h1>
<p id="late">Before scripts ran.</p>
<img alt="" src="/${secret}.png"><a href="https://example.com/${secret}?author=${author}" title="${secret}">Read on</a>
<form id="${secret}" name="${secret}" action="/${secret}"><input type="hidden" name="variant" value="${secret}">
<label>Your address <input name="${secret}" type="email" required></label><input name="${secret}-2" autocomplete="${secret}"><button name="${secret}" value="${secret}">Send</button></form>
<div hidden>${secret}</div><div style="display:none">${secret}</div><div style="visibility:hidden">${secret}</div><div style="opacity:0">${secret}</div>
<div class="away">${secret}</div><div class="tiny">${secret}</div><details><summary>More</summary><p>${secret}</p></details>
<template>${secret}</template><noscript>${secret}</noscript><svg><text>${secret}</text></svg><iframe srcdoc="${secret}"></iframe>
<script>var variant = "${secret}"; headline.textContent = "Offer with merit ${merit}"; late.innerHTML = "<b>After</b> scripts ran."</script>
</body></html>`

describe("what models are shown of variants, with Chromium", () => {
  let server: ModelServer
  let host: TestHost
  const start = async (deadline_ms: number) => {
    const model = { base_url: server.url, prices: { input: 1, output: 1 }, images: true }
    const settings = {
      models: { judge: { ...model, model: "judge-1" }, persona: { ...model, model: "persona-1", protocol: "anthropic" } },
      screenshots: { browser_folder: browserFolder, deadline_ms },
      experiments: { sync_deadline_ms: 110_000 },
    }
    host = await testHost({ capture: false, env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
  }
  before(async () => {
    server = await modelServer()
    // A long deadline, for busy machines.
    await start(100_000)
  })
  beforeEach(() => server.forget())
  after(async () => {
    await host?.stop()
    await server.close()
  })

  const experiment = async (name: string, variants: { key: string; html: string }[]) => {
    const page = (await host.api<{ slug: string }>("POST", "/v1/pages", { title: `${author} ${name}`, variants })).body.slug
    return (await host.api<{ slug: string }>("POST", "/v1/experiments", { name: `${secret} ${name}`, hypothesis: secret, page })).body.slug
  }
  const ledger = async (slug: string, kind: string) =>
    (await host.api<{ observations: Observation[] }>("GET", `/v1/experiments/${slug}/observations?kind=${kind}&limit=200`)).body
      .observations

  /** Checks every revealing part of a call: body, headers and PNG data besides pixels. */
  const expectNothingTold = (requests: readonly ModelRequest[]) => {
    for (const { body, headers, pictures } of requests) {
      expect(body.toLowerCase()).to.not.include(secret).and.not.include(author).and.not.include(host.organization.slug)
      expect(JSON.stringify(headers).toLowerCase()).to.not.include(secret).and.not.include(author)
      for (const picture of pictures) expect(chunksOf(picture).filter((type) => !drawing.has(type))).to.deep.equal([])
    }
  }

  it("gives a judge the text after scripts ran and the picture, and no way to tell the variants apart by name", async () => {
    server.answer(({ text }) => {
      const [a = 0, b = 0] = [...text.matchAll(/merit (\d+)/g)].map(([, merit]) => Number(merit))
      return { json: { reasoning: "By merit.", winner: a >= b ? "A" : "B", confidence: 0.8 } }
    })
    const slug = await experiment("tournament", [
      { key: `${secret}-red`, html: pageOf("rgb(255, 0, 0)", 3) },
      { key: `${secret}-blue`, html: pageOf("rgb(0, 0, 255)", 8) },
    ])
    const { status, body } = await host.api<{ result: { leader_key: string } }>("POST", `/v1/experiments/${slug}/tournament`, {})
    expect([status, body.result.leader_key]).to.deep.equal([200, `${secret}-blue`])
    expect(server.asked.length).to.be.at.least(2)
    expectNothingTold(server.asked)
    const page = (merit: number) =>
      `<page>\n# Offer with merit ${merit}\n\nAfter scripts ran.\n[link: Read on]\nYour address [field: email, required] [field: text] [button: Send]\n\nMore\n</page>`
    for (const { text, pictures } of server.asked) {
      const merits = text.includes("Page A:\n<page>\n# Offer with merit 3") ? ([3, 8] as const) : ([8, 3] as const)
      expect(text).to.equal(`Page A:\n${page(merits[0])}\n\nPage B:\n${page(merits[1])}`)
      const corners = pictures.map((picture) => decodePng(picture).at(1_270, 1_590))
      expect(corners).to.deep.equal(merits.map((merit) => (merit === 3 ? [255, 0, 0] : [0, 0, 255])))
    }
    for (const { details } of await ledger(slug, "comparison")) {
      for (const resource of Object.values(details.shown ?? {})) expect(resource).to.deep.include({ text_from: "browser", image: true })
    }
  })

  it("asks for neither order first more often than chance has it", async () => {
    server.answer(() => ({ json: { reasoning: "Hard to say.", winner: "A", confidence: 0.5 } }))
    const slug = await experiment("order", [
      { key: "control", html: "<h1>Red offer</h1>" },
      { key: "other", html: "<h1>Blue offer</h1>" },
    ])
    await host.api("POST", `/v1/experiments/${slug}/tournament`, { max_comparisons: 40 })
    // The two seats of a round are requested directly after each other.
    const first = server.asked
      .filter((_, place) => place % 2 === 0)
      .map(({ text }) => text.indexOf("Red offer") < text.indexOf("Blue offer"))
    expect(first).to.have.length(40)
    expect(first.filter((isRed) => isRed).length).to.be.within(8, 32)
  })

  it("gives a persona the same", async () => {
    server.answer(() => ({ json: { answer: "Fine.", likelihood: 4 } }))
    await host.api("POST", "/v1/personas", { name: "Founder" })
    const slug = await experiment("panel", [{ key: `${secret}-red`, html: pageOf("rgb(255, 0, 0)", 3) }])
    const { body } = await host.api<{ completed: boolean }>("POST", `/v1/experiments/${slug}/panel`, { draws: 2 })
    expect(body.completed).to.equal(true)
    expect(server.asked).to.have.length(2)
    expectNothingTold(server.asked)
    expect(server.asked.map(({ pictures, text }) => [pictures.length, text.includes("After scripts ran.")])).to.deep.equal([
      [1, true],
      [1, true],
    ])
    for (const { details } of await ledger(slug, "panel")) expect(details).to.deep.include({ text_from: "browser", image: true })
  })

  it("reads all of a run's variants from their HTML where the browser cannot render one, and says so", async () => {
    await host.stop()
    await start(10_000)
    await host.api("POST", "/v1/personas", { name: "Founder" })
    server.answer(() => ({ json: { answer: "Fine.", likelihood: 3 } }))
    const slug = await experiment("fallback", [
      { key: "fine", html: "<h1>Plain</h1><script>document.body.append('After scripts.')</script>" },
      { key: "endless", html: "<h1>Endless</h1><script>for (;;) {}</script>" },
    ])
    const { body } = await host.api<{ completed: boolean }>("POST", `/v1/experiments/${slug}/panel`, { draws: 1 })
    expect(body.completed).to.equal(true)
    for (const { details } of await ledger(slug, "panel")) expect(details).to.deep.include({ text_from: "html", image: false })
    expect(server.asked.map(({ text }) => text)).to.have.members(["<page>\n# Plain\n</page>", "<page>\n# Endless\n</page>"])
    expect(server.asked.map(({ pictures }) => pictures.length)).to.deep.equal([0, 0])
  })
})

describe("what models are shown of variants where no browser starts", () => {
  it("is read from their HTML, and the records say so", async () => {
    const server = await modelServer()
    server.answer(() => ({ json: { answer: "Fine.", likelihood: 3 } }))
    const persona = { base_url: server.url, model: "persona-1", prices: { input: 1, output: 1 }, images: true }
    const settings = { models: { persona }, screenshots: { executable: "/nowhere/chromium" }, experiments: { sync_deadline_ms: 110_000 } }
    const host = await testHost({ capture: false, env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
    try {
      await host.api("POST", "/v1/personas", { name: "Founder" })
      const variants = [{ key: "one", html: "<h1>Plain</h1>" }]
      const page = (await host.api<{ slug: string }>("POST", "/v1/pages", { title: "Page", variants })).body.slug
      const { slug } = (await host.api<{ slug: string }>("POST", "/v1/experiments", { name: "No browser", page })).body
      const { body } = await host.api<{ completed: boolean }>("POST", `/v1/experiments/${slug}/panel`, { draws: 1 })
      expect(body.completed).to.equal(true)
      expect(server.asked.map(({ text, pictures }) => [text, pictures.length])).to.deep.equal([["<page>\n# Plain\n</page>", 0]])
      const { panel } = (await host.api<{ panel: { text_from: string } }>("GET", `/v1/experiments/${slug}/report`)).body
      expect(panel.text_from).to.equal("html")
    } finally {
      await host.stop()
      await server.close()
    }
  })
})

/** PNG chunks with the picture itself. */
const drawing = new Set(["IHDR", "PLTE", "IDAT", "IEND", "sRGB", "gAMA", "sBIT", "pHYs", "tRNS"])

function chunksOf(png: Buffer): string[] {
  const types: string[] = []
  for (let at = 8; at + 8 <= png.length; at += png.readUInt32BE(at) + 12) types.push(png.toString("latin1", at + 4, at + 8))
  return types
}
