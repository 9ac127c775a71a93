// A real Chromium for tests with a person's user agent. One browser serves all tests of a file.
import bundled from "@sparticuz/chromium"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { launchChromium } from "../../chromium.ts"
import { desktopChrome } from "./loop.ts"

export type { Page } from "playwright-core"

export class Chromium {
  readonly #browser: Browser

  constructor(browser: Browser) {
    this.#browser = browser
  }

  static async start(): Promise<Chromium> {
    // Separate contexts need separate processes.
    const args = bundled.args.filter((argument) => !["--single-process", "--no-zygote"].includes(argument))
    return new Chromium(await launchChromium([...args, "--no-sandbox"]))
  }

  /** Opens a new visitor without stored data. Errors of the page are in `faults`. */
  async visitor(
    options: { userAgent?: string; javaScriptEnabled?: boolean; extraHTTPHeaders?: Record<string, string> } = {},
  ): Promise<Visitor> {
    const viewport = { width: 1000, height: 700 }
    const context = await this.#browser.newContext({ userAgent: desktopChrome, viewport, locale: "de-AT", ...options })
    const page = await context.newPage()
    const faults: string[] = []
    page.on("pageerror", (error) => faults.push(error.message))
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()))
    return { context, page, faults }
  }

  stop(): Promise<void> {
    return this.#browser.close()
  }
}

/** Advances the page's clock a little at each read, and only then. Its clicks are then consecutive, even on a busy machine. */
export async function inRow(tab: Page, click: () => Promise<unknown>): Promise<void> {
  await tab.evaluate("globalThis.realNow = Date.now; { let now = Date.now(); Date.now = () => (now += 20) }")
  await click()
  // The clock never moves back: later events would otherwise fall between the clicks.
  await tab.evaluate("{ const ahead = Math.max(0, Date.now() - realNow()); Date.now = () => realNow() + ahead }")
}

/** An observer sees a frame when it is painted, and reports it in a later task. */
export async function painted(tab: Page): Promise<void> {
  await tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")
}

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  readonly faults: string[]
}
