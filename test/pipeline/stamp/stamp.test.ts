// Reads a visit from a request's headers: device, browser, in-app container, language, place. Coarse, and never wrong about
// unknown values.
import { expect } from "chai"
import fc from "fast-check"
import { geographyOf, languageOf } from "../../../core/pipeline/stamp/stamp.ts"
import { classifyUserAgent } from "../../../plugins/pages/user-agents/classify.ts"
import { leastProcessorMs } from "../../slowness.ts"

const webkit = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
const blink = "AppleWebKit/537.36 (KHTML, like Gecko)"
const iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X)"
const android = "Mozilla/5.0 (Linux; Android 14; Pixel 8)"
const windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"

const agents: [title: string, agent: string, device: string, browser: string, inApp: string][] = [
  ["Safari on an iPhone", `${iphone} ${webkit} Version/18.5 Mobile/15E148 Safari/604.1`, "mobile", "safari", ""],
  ["Chrome on an iPhone", `${iphone} ${webkit} CriOS/137.0 Mobile/15E148 Safari/604.1`, "mobile", "chrome", ""],
  ["Firefox on an iPhone", `${iphone} ${webkit} FxiOS/139.0 Mobile/15E148 Safari/605.1.15`, "mobile", "firefox", ""],
  [
    "Safari on an iPad",
    `Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) ${webkit} Version/17.5 Mobile/15E148 Safari/604.1`,
    "tablet",
    "safari",
    "",
  ],
  ["Chrome on Android", `${android} ${blink} Chrome/137.0.0.0 Mobile Safari/537.36`, "mobile", "chrome", ""],
  [
    "Chrome on an Android tablet",
    `Mozilla/5.0 (Linux; Android 13; SM-X906C) ${blink} Chrome/137.0.0.0 Safari/537.36`,
    "tablet",
    "chrome",
    "",
  ],
  ["Samsung's browser", `${android} ${blink} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36`, "mobile", "samsung", ""],
  ["Chrome on Windows", `${windows} ${blink} Chrome/137.0.0.0 Safari/537.36`, "desktop", "chrome", ""],
  ["Edge on Windows", `${windows} ${blink} Chrome/137.0.0.0 Safari/537.36 Edg/137.0.0.0`, "desktop", "edge", ""],
  ["Opera on Windows", `${windows} ${blink} Chrome/136.0.0.0 Safari/537.36 OPR/120.0.0.0`, "desktop", "opera", ""],
  ["Firefox on Linux", "Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0", "desktop", "firefox", ""],
  ["Safari on a Mac", `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Version/18.5 Safari/605.1.15`, "desktop", "safari", ""],
  ["Instagram", `${iphone} ${webkit} Mobile/15E148 Instagram 383.0.0.29.79 (iPhone16,1; iOS 18_5; de_DE)`, "mobile", "safari", "instagram"],
  [
    "Facebook on Android",
    `${android} ${blink} Version/4.0 Chrome/137.0.0.0 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/510.0.0.0.1;]`,
    "mobile",
    "chrome",
    "facebook",
  ],
  ["LinkedIn", `${iphone} ${webkit} Mobile/15E148 [LinkedInApp]/9.31.4`, "mobile", "safari", "linkedin"],
  [
    "an unnamed webview",
    `Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) ${blink} Version/4.0 Chrome/137.0.0.0 Mobile Safari/537.36`,
    "mobile",
    "chrome",
    "",
  ],
  ["curl", "curl/8.9.1", "", "other", ""],
  ["nothing", "", "", "", ""],
]

describe("what a request tells of a visit", () => {
  for (const [title, agent, device_type, browser, in_app] of agents) {
    it(`knows ${title}`, () => {
      expect(classifyUserAgent(agent)).to.deep.equal({ device_type, browser, in_app })
    })
  }

  it("gives one of its words for any agent at all, quickly", async () => {
    const words = ["chrome", "safari", "firefox", "edge", "samsung", "opera", "other", ""]
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ maxLength: 3_000 }),
          fc.constantFrom(...agents.map(([, agent]) => agent)).map((agent) => agent.repeat(20)),
        ),
        async (agent) => {
          const classify = () => classifyUserAgent(agent)
          // The faster of two runs: one may include a collection of other garbage.
          expect(await leastProcessorMs(100, classify)).to.be.lessThan(100)
          const { device_type, browser, in_app } = classify()
          expect(["mobile", "tablet", "desktop", ""]).to.include(device_type)
          expect(words).to.include(browser)
          expect(in_app).to.match(/^[a-z]*$/)
        },
      ),
    )
  })

  it("takes the primary tag of the language most wanted", () => {
    const cases = {
      "de-DE,de;q=0.9,en;q=0.8": "de",
      "en;q=0.5, fr": "fr",
      "*": "",
      "": "",
      "zh-Hant-TW": "zh",
      "en;q=0, pt-BR;q=0.1": "pt",
      "<script>": "",
      "EN-us": "en",
    }
    for (const [header, language] of Object.entries(cases)) expect(languageOf(header), header).to.equal(language)
  })

  it("believes the configured edge only, and no invalid country", () => {
    const headers = { "cf-ipcountry": "us", "cf-region-code": "CA", "cf-ipcity": "San Jos\u00e9" }
    expect(geographyOf(headers, "cloudflare")).to.deep.equal({ country: "US", region: "US-CA", city: "San Jos\u00e9" })
    expect(geographyOf({ ...headers, "cf-region-code": "us-ca" }, "cloudflare").region).to.equal("US-CA")
    for (const other of ["DE-BY", "CALIFORNIA", ""])
      expect(geographyOf({ ...headers, "cf-region-code": other }, "cloudflare").region).to.equal("")
    for (const edge of ["none", "vercel", "fastly"] as const)
      expect(geographyOf(headers, edge)).to.deep.equal({ country: "", region: "", city: "" })
    for (const country of ["XX", "T1", "", "Germany"])
      expect(geographyOf({ ...headers, "cf-ipcountry": country }, "cloudflare").country).to.equal("")
    const vercel = { "x-vercel-ip-country": "BR", "x-vercel-ip-country-region": "SP", "x-vercel-ip-city": "S%C3%A3o%20Paulo" }
    expect(geographyOf(vercel, "vercel")).to.deep.equal({ country: "BR", region: "BR-SP", city: "S\u00e3o Paulo" })
  })
})
