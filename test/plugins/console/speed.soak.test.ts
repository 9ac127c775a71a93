// Speed of the console in Chromium, with the service on the same machine: each area's first view after its data arrived, and the
// cost of a frame while scrolling rows.
import { expect } from "chai"
import type { Page } from "playwright-core"
import { expectWithin } from "../../tier.ts"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "./browser.ts"
import { Filling, optionsOf, type Servers, startServers } from "./filled.ts"

const rows = 5_000
const perCall = 500
/** Milliseconds of a frame at 60 per second. */
const frameMs = 1_000 / 60

describe("the speed of the console", () => {
  let servers: Servers
  const testConsole = consoleUnderTest(async () => {
    servers = await startServers()
    return optionsOf(servers)
  })
  before(async () => {
    await new Filling(testConsole.host, servers).all()
    await testConsole.host.api("POST", "/v1/datasets", { name: "Many" })
    for (let from = 0; from < rows; from += perCall) {
      const more = Array.from({ length: perCall }, (_, at) => ({ email: `lead-${from + at}@example.com`, name: "Lead", budget: from + at }))
      expect((await testConsole.host.api("POST", "/v1/datasets/many/rows", { rows: more, key: "email" })).status).to.equal(200)
    }
  })
  after(() => servers.close())

  it("shows each area within 300 ms of the answer to its data", async () => {
    const page = await testConsole.signedIn("/console")
    const areas = (await page.evaluate(`[...document.querySelectorAll("nav.areas a")].map((link) => link.pathname)`)) as string[]
    expect(areas.length).to.be.greaterThan(15)
    await page.addInitScript(watch)
    const durations: (readonly [path: string, ms: number])[] = []
    for (const path of ["/console", ...areas, "/console/datasets/many"]) {
      await page.goto(testConsole.host.url + path)
      const ms = await until(`${path} being shown`, async () => ((await page.evaluate("globalThis.sinceAnswer")) as number) || undefined)
      durations.push([path, ms])
    }
    console.log(`      ${durations.map(([path, ms]) => `${path} ${Math.round(ms)} ms`).join(", ")}`)
    for (const [path, ms] of durations) expectWithin(300, ms, path)
  })

  it("scrolls through rows in frames of a 60th of a second", async () => {
    const page = await testConsole.signedIn("/console/datasets/many")
    const table = page.getByRole("table", { name: "Rows of Many" })
    await table.getByRole("row").nth(5).waitFor()
    await table.focus()
    await until("all rows being loaded", async () => {
      await page.keyboard.press("End")
      return (await page.getByText(`${rows.toLocaleString("en")} rows`).count()) > 0 || undefined
    })
    const busyMs = await busyOf(page)
    const before = await busyMs()
    const frames = Number(await page.evaluate(scroll))
    const value = ((await busyMs()) - before) / frames
    console.log(`      ${frames} frames, ${value.toFixed(1)} ms of the page's thread each`)
    expect(frames).to.be.greaterThan(100)
    expectWithin(frameMs, value, "work of a frame")
  })
})

/** Measures the time from the service's last answer to the first frame with the data. */
const watch = `new MutationObserver((_, observer) => {
  const main = document.querySelector("main")
  const answers = performance.getEntriesByType("resource").filter(({ name }) => new URL(name).pathname.startsWith("/v1/"))
  const isThere = main?.querySelector("h1") && ![...main.querySelectorAll("*")].some((one) => one.textContent.trim() === "Loading")
  if (!isThere || answers.length === 0) return
  observer.disconnect()
  const answered = Math.max(...answers.map(({ responseEnd }) => responseEnd))
  requestAnimationFrame(() => setTimeout(() => { globalThis.sinceAnswer = performance.now() - answered }))
}).observe(document, { subtree: true, childList: true, characterData: true })`

/** Scrolls from the last row to the first, one and a half screens per frame. Returns the number of frames. */
const scroll = `new Promise((resolve) => {
  const table = document.querySelector("main .virtual")
  let frames = 0
  const step = () => {
    if (table.scrollTop === 0) return resolve(frames)
    frames++
    table.scrollTop -= 900
    requestAnimationFrame(step)
  }
  requestAnimationFrame(step)
})`

/** Returns the milliseconds of tasks in the page's thread. */
async function busyOf(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page)
  await session.send("Performance.enable")
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics")
    return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1_000
  }
}
