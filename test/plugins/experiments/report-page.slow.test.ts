// The report's document in a real Chromium: no blocked or loaded resources, no overflow, and readable in both schemes.
import { expect } from "chai"
import type { Browser } from "playwright-core"
import { reportPage } from "../../../plugins/pages/experiments/report/page.ts"
import { launchChromium } from "../../chromium.ts"
import { reportWith } from "./report-fixture.ts"

const long = "a-word-without-any-place-to-break-it-".repeat(6)

describe("the report's document in Chromium", () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium(["--no-sandbox"])
  })
  after(() => browser?.close())

  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [320, 1_280]) {
      it(`fits ${width} pixels, ${colorScheme}`, async () => {
        const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
        const reports: string[] = []
        const requests: string[] = []
        page.on("console", (message) => reports.push(message.text()))
        page.on("request", (request) => requests.push(request.url()))
        await page.setContent(reportPage(reportWith(`${long} <script>document.title = "run"</script>`)))
        expect([reports, requests, await page.title()]).to.deep.equal([[], [], await page.title()])
        expect(await page.title()).to.include("experiment report")
        expect(await page.evaluate("document.documentElement.scrollWidth"), "width").to.equal(width)
        const observed = await page.evaluate<Record<string, number[]>>(look)
        // WCAG 2.2: 4.5 for text, 3 for essential parts of a picture.
        expect(Math.min(...(observed["texts"] ?? [])), "contrast of text").to.be.at.least(4.5)
        expect(Math.min(...(observed["lines"] ?? [])), "contrast of lines").to.be.at.least(3)
        expect(observed["texts"]).to.have.length.above(30)
        expect(Math.min(...(observed["sizes"] ?? [])), "letters").to.be.at.least(12)
        expect(observed["outside"], "letters of pictures outside of the window").to.deep.equal([])
        await page.close()
      })
    }
  }

  it("prints on a few pages, black on white in every scheme of the screen", async () => {
    const page = await browser.newPage({ colorScheme: "dark" })
    await page.setContent(reportPage(reportWith("")))
    await page.emulateMedia({ media: "print", colorScheme: "dark" })
    expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).to.equal("rgb(255, 255, 255)")
    expect(await page.evaluate("getComputedStyle(document.body).color")).to.equal("rgb(0, 0, 0)")
    const pdf = await page.pdf({ format: "A4" })
    const pages = [...pdf.toString("latin1").matchAll(/\/Type\s*\/Page\b/g)].length
    expect(pages).to.be.within(2, 7)
    await page.close()
  })
})

/** Returns contrasts of texts and lines, font sizes, and picture texts outside the window. */
const look = `(() => {
  const channels = (colour) => (colour.match(/[\\d.]+/g) ?? []).slice(0, 3).map(Number)
  const luminance = (colour) => {
    const [r, g, b] = channels(colour).map((value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (high + 0.05) / (low + 0.05)
  }
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at)
      if (backgroundColor !== "rgba(0, 0, 0, 0)") return backgroundColor
    }
    return "rgb(255, 255, 255)"
  }
  const html = [...document.querySelectorAll("h1, h2, h3, p, th, td, caption")]
  const letters = [...document.querySelectorAll("svg text")]
  const lines = [...document.querySelectorAll("polyline.line, .dot")]
  return {
    texts: [...html.map((one) => contrast(getComputedStyle(one).color, behind(one))), ...letters.map((one) => contrast(getComputedStyle(one).fill, behind(one)))],
    lines: lines.map((one) => contrast(one.matches(".dot") ? getComputedStyle(one).fill : getComputedStyle(one).stroke, behind(one))),
    sizes: [...html, ...letters].map((one) => parseFloat(getComputedStyle(one).fontSize)),
    outside: letters.map((one) => one.getBoundingClientRect()).filter(({ left, right }) => left < 0 || right > innerWidth + 1).map(({ left, right }) => [left, right]),
  }
})()`
