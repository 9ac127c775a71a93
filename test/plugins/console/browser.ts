// The console in Chromium, for tests of screens: one service and one browser per file, signed-in pages, and common checks of
// every screen in every look. MILLRACE_TEST_PICTURES names a folder for pictures.
import { mkdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { expect } from "chai"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { sessionCookie } from "#core/engine"
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { launchChromium } from "../../chromium.ts"
import { freePort } from "../../free-port.ts"
import { signedIn } from "../approvals/gated-notes.ts"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

const looks = [
  { name: "light-wide", colorScheme: "light", viewport: { width: 1_280, height: 800 } },
  { name: "dark-wide", colorScheme: "dark", viewport: { width: 1_280, height: 800 } },
  { name: "light-narrow", colorScheme: "light", viewport: { width: 320, height: 640 } },
  { name: "dark-narrow", colorScheme: "dark", viewport: { width: 320, height: 640 } },
] as const

// A busy machine may take a minute to draw a page. A wait ends well before its test, so the failure names the awaited condition.
const [waitMs, testMs] = [200_000, 600_000]

interface Watched {
  readonly context: BrowserContext
  readonly said: string[]
  readonly elsewhere: string[]
}

/** Registers the hooks of the file's `describe`. Closes and checks every opened page after its test. */
export function consoleUnderTest(options: TestHostOptions | (() => Promise<TestHostOptions>) = {}): ConsoleUnderTest {
  const own = new ConsoleUnderTest()
  before(async function () {
    this.timeout(testMs)
    await own.start(typeof options === "function" ? await options() : options)
  })
  beforeEach(function () {
    this.currentTest?.timeout(testMs)
  })
  afterEach(() => own.judge())
  after(() => own.stop())
  return own
}

export class ConsoleUnderTest {
  #host: TestHost | undefined
  #options: TestHostOptions = {}
  #browser: Browser | undefined
  readonly #opened: Watched[] = []

  get host(): TestHost {
    if (!this.#host) throw new Error("The service is started by the describe's hooks, before its tests.")
    return this.#host
  }

  async start(options: TestHostOptions): Promise<void> {
    // A port that stays free while the service is stopped.
    this.#options = { ...options, env: { ...options.env, PORT: String(await freePort()) } }
    await this.startService()
    // With a process per page and the rules of origins, both disabled by the service's own flags.
    this.#browser = await launchChromium(["--no-sandbox"])
  }

  async stop(): Promise<void> {
    await this.#browser?.close()
    await this.#host?.stop()
  }

  /** Stops the service, as its process would. */
  async stopService(): Promise<void> {
    await this.#host?.stop()
    this.#host = undefined
  }

  /** Starts the service again with the same options and address. */
  async startService(): Promise<void> {
    this.#host = await testHost(this.#options)
  }

  /** Opens a page without a session. `mayFail`: network error messages about requests are expected. */
  async open(path: string, { mayFail = false } = {}): Promise<Page> {
    const context = await this.#context()
    return await this.#page(context, path, mayFail)
  }

  /** Opens a page with a session of the admin key or another key. */
  async signedIn(path: string, { key = this.host.adminKey, mayFail = false } = {}): Promise<Page> {
    const context = await this.#context()
    const answer = await context.request.post(`${this.host.url}/console-session`, { data: { key } })
    expect(answer.status()).to.equal(204)
    const page = await this.#page(context, path, mayFail)
    await page.getByRole("navigation", { name: "Areas" }).waitFor()
    return page
  }

  /** Opens a page with a session of the owner as a person. */
  async signedInAsOwner(path: string): Promise<Page> {
    const { host } = this
    const { user } = (await host.api<{ user: { id: string } }>("GET", "/v1/me")).body
    const context = await this.#context()
    await context.addCookies([{ name: sessionCookie, value: await signedIn(host, user.id), url: host.url }])
    const page = await this.#page(context, path, false)
    await page.getByRole("navigation", { name: "Areas" }).waitFor()
    return page
  }

  async #context(): Promise<BrowserContext> {
    if (!this.#browser) throw new Error("The browser is started by the describe's hooks, before its tests.")
    const [look] = looks
    const { colorScheme, viewport } = look
    const context = await this.#browser.newContext({ colorScheme, viewport, locale: "en-US", bypassCSP: false })
    context.setDefaultTimeout(waitMs)
    return context
  }

  async #page(context: BrowserContext, path: string, mayFail: boolean): Promise<Page> {
    const { url } = this.host
    const page = await context.newPage()
    const [messages, elsewhere]: [string[], string[]] = [[], []]
    // The browser itself logs intended refusals.
    const expected = mayFail ? /status of (?:40[01349]|429|50\d)|net::ERR_|WebSocket connection/ : /status of 40[0139]/
    page.on("console", (message) => void (expected.test(message.text()) || messages.push(message.text())))
    page.on("pageerror", (error) => void messages.push(String(error)))
    page.on(
      "request",
      (request) => void (/^(?:data|blob):/.test(request.url()) || request.url().startsWith(url) || elsewhere.push(request.url())),
    )
    this.#opened.push({ context, said: messages, elsewhere })
    await page.goto(url + path)
    return page
  }

  /** Closes the pages. Their logs must be empty, and no request may have left the origin. */
  async judge(): Promise<void> {
    for (const { context, said: messages, elsewhere } of this.#opened.splice(0)) {
      await context.close()
      expect(messages, "the browser's log").to.deep.equal([])
      expect(elsewhere, "requests to elsewhere").to.deep.equal([])
    }
  }

  /**
   * Checks light and dark, wide and narrow, or some of these looks: no findings of axe, no horizontal scrolling. Takes a picture
   * of each.
   */
  async looksRight(page: Page, name: string, isLooked: (number: number) => boolean = () => true): Promise<void> {
    const folder = process.env["MILLRACE_TEST_PICTURES"]
    for (const [number, { name: look, colorScheme, viewport }] of looks.entries()) {
      if (!isLooked(number)) continue
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(viewport)
      expect(await violations(page), `${name}, ${look}`).to.deep.equal([])
      const sideways = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
      expect(sideways, `${name}, ${look}: scrolls sideways`).to.equal(0)
      if (folder === undefined) continue
      mkdirSync(folder, { recursive: true })
      await page.evaluate("scrollTo(0, 0)")
      await page.screenshot({ path: join(folder, `${name}-${look}.png`) })
    }
    await page.emulateMedia({ colorScheme: looks[0].colorScheme })
    await page.setViewportSize(looks[0].viewport)
  }

  /** Presses Tab until an element of this name has the focus, like a keyboard user. */
  async tabTo(page: Page, name: string | RegExp): Promise<void> {
    for (let pressed = 0; pressed < 300; pressed++) {
      await page.keyboard.press("Tab")
      const text = String(await page.evaluate(focusedName))
      if (typeof name === "string" ? text === name : name.test(text)) return
    }
    throw new Error(`Tab reaches nothing called ${String(name)}.`)
  }
}

/** Name of the focused element, also within an editor. */
const focusedName = `(() => {
  let one = document.activeElement
  while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement
  return (one?.getAttribute("aria-label") ?? one?.labels?.[0]?.textContent ?? one?.textContent ?? "").trim()
})()`

/** Uses the debugger protocol, since the page's policy does not apply to it. */
async function violations(page: Page): Promise<string[]> {
  // axe stays loaded until the page reloads.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe)
  return await page.evaluate(async (runOnly) => {
    const { run } = (
      globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }
    ).axe
    const { violations: matches } = await run({ runOnly })
    return matches.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)
  }, rules)
}
