// Every screen of a service with data in every area, in Chromium. Finds screens by links from the navigation. Checks each in
// light or dark, narrow or wide (in the soak in all). Walks it by Tab with hostile texts in every answer, and compares its offers
// with the rights of a guest, a member and a manager's key.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import type { Page } from "playwright-core"
import { Store } from "#core"
import { type Role, roleAtLeast } from "../../../core/contract/caller.ts"
import { type CollectionSpec, Collections, type Document } from "../../../core/contract/collection.ts"
import { Operations } from "../../../core/contract/operation.ts"
import { projectRoot } from "../../import-graph.ts"
import { isSoak } from "../../tier.ts"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "./browser.ts"
import { Filling, optionsOf, type Servers, startServers } from "./filled.ts"
import { answerHostile, harmOf, mark } from "./hostile.ts"

/** True to check each screen in all looks. By default each screen has one look, rotating by screen. */
const everyLook = isSoak || process.env["MILLRACE_TEST_PICTURES"] !== undefined

describe("every screen", () => {
  let servers: Servers
  const testConsole = consoleUnderTest(async () => {
    servers = await startServers()
    return optionsOf(servers)
  })
  before(() => new Filling(testConsole.host, servers).all())
  after(() => servers.close())

  it("shows stored documents whose fields config/api.txt lists", async () => {
    const items = new Set(readFileSync(join(projectRoot, "config/api.txt"), "utf8").split("\n"))
    const { container, registry } = testConsole.host.runtime
    const store = container.get(Store)
    const matches = new Set<string>()
    for (const spec of registry.items(Collections)) {
      const collection =
        spec.scope === "organization"
          ? store.open(spec as CollectionSpec<Document, "organization">, testConsole.host.organization.id)
          : store.open(spec as CollectionSpec<Document, "global">)
      for (const document of await collection.find({}, { limit: 100 }))
        for (const field of Object.keys(document)) matches.add(`field ${spec.name}.${field}`)
    }
    expect(matches.size).to.be.greaterThan(500)
    expect([...matches].filter((field) => !items.has(field))).to.deep.equal([])
  })

  it("is accessible, in light and dark, narrow and wide, with an empty log", async () => {
    const page = await testConsole.signedIn("/console")
    let looked = 0
    const places = await walk(page, async (path) => {
      const own = looked++ % 4
      await testConsole.looksRight(page, nameOf(path), (number) => everyLook || number === own)
    })
    expect(places.length).to.be.greaterThan(60)
    for (const place of ["workstreams/autumn-launch", "experiments/spring-offer", "pages/spring-offer"])
      expect(places.includes(`/console/${place}`), place).to.equal(true)
  })

  it("shows hostile texts as what they are, in every field, and leads to each part by Tab with its focus in sight", async () => {
    const page = await testConsole.signedIn("/console")
    await page.setViewportSize({ width: 320, height: 640 })
    await answerHostile(page)
    // Discards earlier answers.
    await page.reload()
    await page.locator("main h1").waitFor()
    await page.evaluate(watchFocus)
    let [marked, reached] = [0, 0]
    const matches: string[] = []
    const places = await walk(page, async (path) => {
      if ((await page.locator("main").textContent())?.includes(mark)) marked++
      for (const harmed of await harmOf(page)) matches.push(`${path}: ${harmed}`)
      for (const remaining of await unreached(page)) matches.push(`${path}, without focus: ${remaining}`)
      reached += Number(await page.evaluate("reached.size"))
    })
    expect(matches).to.deep.equal([])
    expect(places.length).to.be.greaterThan(60)
    expect(marked, "places that show such texts").to.be.greaterThan(40)
    expect(reached, "parts reached").to.be.greaterThan(300)
  })

  for (const { name, role, manager } of [
    { name: "a guest", role: "guest", manager: false },
    { name: "a member", role: "member", manager: false },
    { name: "a manager's key", role: "admin", manager: true },
  ] as const) {
    it(`offers ${name} nothing that would be refused`, async () => {
      const answer = await testConsole.host.api<{ secret: string }>("POST", "/v1/api-keys", { name, role, manager })
      const page = await testConsole.signedIn("/console", { key: answer.body.secret })
      const refused: string[] = []
      page.on("response", (response) => {
        if (response.status() === 403) refused.push(`${response.request().method()} ${response.url()}`)
      })
      const offered = new Set<string>()
      const places = await walk(page, async (path) => {
        for (const operation of await offeredOn(page)) {
          offered.add(operation)
          expect(mayCall(operation, role), `${operation} is offered on ${path}`).to.equal(true)
        }
      })
      expect(refused).to.deep.equal([])
      expect(places.length).to.be.greaterThan(20)
      // Roles with more rights have more offers, so the checks above can succeed.
      expect(offered.has("datasets.create")).to.equal(role !== "guest")
      expect(offered.has("sending_domains.delete")).to.equal(role === "admin")
      expect(offered.has("experiments.decide")).to.equal(role === "admin")
    })
  }

  function mayCall(operation: string, role: Role): boolean {
    const access = testConsole.host.runtime.registry.items(Operations).find(({ name }) => name === operation)?.access
    return access !== undefined && roleAtLeast(role, access.role)
  }
})

/** Visits each place of the navigation, its tabs, and its first link. Returns all visited places. */
async function walk(page: Page, look: (path: string) => Promise<void>): Promise<string[]> {
  const received: string[] = []
  const visit = async (path: string, depth: number): Promise<void> => {
    if (received.includes(path)) return
    received.push(path)
    await goTo(page, path)
    await look(path)
    if (depth === 0) return
    for (const next of (await page.evaluate(leading)) as string[]) await visit(next, depth - 1)
  }
  const places = await page.evaluate(`[...document.querySelectorAll("nav.areas a")].map((link) => link.pathname)`)
  for (const path of places as string[]) await visit(path, 2)
  return received
}

/** Navigates like a link, without reloading the page. */
async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`)
  await until(`${path} being read`, async () => {
    const isThere = (await page.locator("main h1").count()) > 0
    return (isThere && (await page.locator("main").getByText("Loading", { exact: true }).count()) === 0) || undefined
  })
}

/** Tabs and parts of this place, and the first linked row of each table. */
const leading = `(() => {
  const here = location.pathname
  const tabs = [...document.querySelectorAll("main nav.tabs a, main .verbs a.button")]
  const rows = [...document.querySelectorAll("main table, main [role=table]")].flatMap((table) => table.querySelector("tbody a, .virtual-body a") ?? [])
  const links = [...tabs, ...rows].filter((link) => link.origin === location.origin && link.pathname.startsWith("/console/"))
  return [...new Set(links.map((link) => link.pathname + link.search))].filter((path) => path !== here).slice(0, 12)
})()`

/** Returns the operations offered on the page: calls of its parts, forms behind its links, and its downloads. */
async function offeredOn(page: Page): Promise<string[]> {
  const calls = String(await page.evaluate(offers))
  const links = (await page.evaluate(`[...document.querySelectorAll("main a")].map((link) => link.href)`)) as string[]
  const opened = links.flatMap((href) => {
    const url = new URL(href)
    return [/\/-\/([\w.]+)$/.exec(url.pathname)?.[1], url.searchParams.get("do") ?? undefined]
  })
  return [...calls.split(" "), ...opened].filter((name): name is string => name !== undefined && name !== "")
}

/** Resolves after the page has been drawn. */
const offers = `new Promise((resolve) => {
  requestAnimationFrame(() => setTimeout(() => resolve(document.documentElement.dataset.offers ?? "")))
})`

/** Records elements that had the focus, and focused elements without an outline. */
const watchFocus = `(() => {
  globalThis.reached = new Set()
  globalThis.unseen = new Set()
  addEventListener("focusin", ({ target }) => {
    reached.add(target)
    if (!target.shadowRoot && getComputedStyle(target).outlineStyle === "none") unseen.add(target)
  })
})()`

const focusable = `(() => {
  const parts = [...document.querySelectorAll("main :is(a[href], button, input, select, textarea, summary, [tabindex='0'])")]
  return parts.filter((one) => !one.disabled && one.type !== "radio" && one.tabIndex >= 0 && one.checkVisibility())
})()`

/**
 * Starts at the skip link and presses Tab. Returns focusable elements that were not reached. Repeats if parts of the page changed
 * meanwhile.
 */
async function unreached(page: Page): Promise<string[]> {
  for (;;) {
    await page.evaluate("reached.clear(); unseen.clear(); document.activeElement.blur(); document.querySelector('.skip').focus()")
    await page.keyboard.press("Enter")
    const count = Number(await page.evaluate(`(globalThis.parts = ${focusable}).length`))
    for (let pressed = 0; pressed < count + 3; pressed++) await page.keyboard.press("Tab")
    const { left: remaining, areSame } = (await page.evaluate(judged)) as { left: string[]; areSame: boolean }
    if (remaining.length === 0 || areSame) return remaining
  }
}

const judged = `(() => {
  const now = ${focusable}
  const left = now.filter((one) => !reached.has(one) || unseen.has(one)).map((one) => one.outerHTML.slice(0, 200))
  return { left, areSame: now.length === parts.length && now.every((one, index) => one === parts[index]) }
})()`

const nameOf = (path: string) =>
  path
    .slice(1)
    .replaceAll(/[^\w-]+/g, "_")
    .slice(0, 120)
