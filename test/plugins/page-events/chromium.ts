// A real Chromium for tests, as a person's browser would be: with an agent that is not a bot's. One for all tests of a file.
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
    // Contexts of their own need processes of their own.
    const args = bundled.args.filter((argument) => !["--single-process", "--no-zygote"].includes(argument))
    return new Chromium(await launchChromium([...args, "--no-sandbox"]))
  }

  /** A visitor with nothing remembered. What the page throws is kept in `faults`. */
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

/** Has the page's own time go on a little with each look at it and not otherwise, so that its clicks are in a row however long a busy machine takes between them. */
export async function inRow(tab: Page, click: () => Promise<unknown>): Promise<void> {
  await tab.evaluate("globalThis.realNow = Date.now; { let now = Date.now(); Date.now = () => (now += 20) }")
  await click()
  // Never back: what follows the clicks would seem to come between them.
  await tab.evaluate("{ const ahead = Math.max(0, Date.now() - realNow()); Date.now = () => realNow() + ahead }")
}

/** What a frame shows is looked at when it is painted, and told of in a task after that. */
export async function painted(tab: Page): Promise<void> {
  await tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")
}

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  readonly faults: string[]
}
