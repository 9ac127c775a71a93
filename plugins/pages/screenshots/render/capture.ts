// Opens a page in a running browser, performs the instructions and captures the image.
import { type Browser, type BrowserContext, chromium, type Page, type Request, type Route } from "playwright-core"
import { isOwnPage, type OwnPages } from "../proxy/targets.ts"
import { missingGlyphs } from "./glyphs.ts"
import type { HtmlDocument, RenderTask, Seen } from "./order.ts"
import { awaitIdle, perform, reveal } from "./perform.ts"
import { visibleText } from "./visible-text.ts"

/** A page that did not load, with the cause reported by the browser. */
export class PageFailure extends Error {
  readonly url: string | undefined

  constructor(message: string, url?: string) {
    super(message)
    this.url = url
  }
}

const unconnected =
  "A form of the page was submitted, and no active record_capture pipeline takes it: visitors would be told that it could not be sent."
const loadMs = 15_000
const aborted = "net::ERR_ABORTED"
/** Largest image that Chromium paints in one piece. A larger image would repeat its content. */
const maxSide = 16_384
const maxPixels = 40_000_000

export async function connect(socket: string): Promise<Browser> {
  return await chromium.connectOverCDP(socket, { timeout: 15_000 })
}

/** Writes a PNG to `file`. Throws PageFailure. */
export async function capture(browser: Browser, task: RenderTask, file: string): Promise<Seen> {
  const context = await browser.newContext({
    viewport: { width: task.viewport.width, height: task.viewport.height },
    deviceScaleFactor: task.viewport.device_scale_factor,
    serviceWorkers: "block",
    acceptDownloads: false,
    locale: "en-US",
    timezoneId: "UTC",
    reducedMotion: "reduce",
  })
  // Peer connections use UDP and bypass the proxy.
  await context.addInitScript("delete globalThis.RTCPeerConnection; delete globalThis.webkitRTCPeerConnection")
  const page = await context.newPage()
  page.setDefaultTimeout(task.deadlineMs)
  closePopups(context, page)
  const guard = await guardOwn(context, task.own)
  const navigation = watchNavigation(page)
  const giving = await giveDocument(page, task)
  await open(page, task, navigation)
  await perform(page, task.instructions).catch((error: unknown) => {
    // A refused form is the cause of the next step's failure.
    if (!giving.refused()) throw error
  })
  if (giving.refused()) throw new PageFailure(unconnected)
  if (isNowhere(page)) throw navigation.failure("")
  const astray = guard.astray()
  if (astray !== undefined) throw new PageFailure("The page redirects to a non-page URL of this service.", astray)
  if (task.full_page || task.reads_text) await reveal(page, task.viewport.height)
  const text = task.reads_text ? await visibleText(page) : undefined
  const warnings = await missingGlyphs(page)
  await page.screenshot({ path: file, type: "png", animations: "disabled", timeout: task.deadlineMs, ...(await extent(page, task)) })
  return { httpStatus: navigation.status(), warnings, text }
}

async function open(page: Page, task: RenderTask, navigation: Navigation): Promise<void> {
  try {
    await page.goto(task.url, { waitUntil: "commit", timeout: task.deadlineMs })
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause)
    // Aborted: the page navigated elsewhere. The new target is checked below.
    if (!text.includes(aborted)) throw navigation.failure(text)
  }
  await page.waitForLoadState("load", { timeout: Math.min(loadMs, task.deadlineMs) }).catch(() => undefined)
  await awaitIdle(page)
  if (isNowhere(page)) throw navigation.failure("")
}

function isNowhere(page: Page): boolean {
  return page.url() === "about:blank" || page.url().startsWith("chrome-error:")
}

interface Navigation {
  /** Error of a page without a document: the browser's last message about its request. */
  failure(otherwise: string): PageFailure
  /** HTTP status of the shown document; 0 if it was not fetched. */
  status(): number
}

function watchNavigation(page: Page): Navigation {
  let url: string | undefined
  let failed: { text: string; url: string } | undefined
  const isMain = (request: Request) => request.isNavigationRequest() && request.frame() === page.mainFrame()
  page.on("request", (request) => {
    if (isMain(request)) url = request.url()
  })
  let answered = 0
  page.on("response", (response) => {
    if (isMain(response.request())) answered = response.status()
  })
  page.on("requestfailed", (request) => {
    const text = request.failure()?.errorText ?? ""
    // Aborted: another document replaced it, or the response had no document.
    if (isMain(request) && text !== aborted) failed = { text, url: request.url() }
  })
  return {
    status: () => answered,
    failure(otherwise) {
      const text = failed?.text || /net::\w+/.exec(otherwise)?.[0] || otherwise.split("\n")[0]?.slice(0, 200) || "the page has no document"
      return new PageFailure(`The page could not be opened (${text}).`, failed?.url ?? url)
    },
  }
}

function closePopups(context: BrowserContext, page: Page): void {
  context.on("page", (other) => {
    if (other !== page) other.close().catch(() => undefined)
  })
}

/** Returns the area of the whole page, up to the largest possible image. */
async function extent(
  page: Page,
  { viewport, full_page }: RenderTask,
): Promise<{ fullPage?: boolean; clip?: { x: number; y: number; width: number; height: number } }> {
  if (!full_page) return {}
  const session = await page.context().newCDPSession(page)
  const { cssContentSize } = await session.send("Page.getLayoutMetrics")
  const scale = viewport.device_scale_factor
  const width = Math.min(Math.ceil(cssContentSize.width), Math.floor(maxSide / scale))
  const tallest = Math.floor(Math.min(maxSide / scale, maxPixels / (width * scale * scale)))
  if (cssContentSize.height <= tallest && cssContentSize.width <= width) return { fullPage: true }
  return { fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(Math.ceil(cssContentSize.height), tallest) } }
}

// Restricts the browser to reading pages of this service's own origin over TLS. The proxy cannot see paths inside TLS; over plain
// HTTP it enforces the same rule.

interface OwnGuard {
  /** Returns the URL of an own document other than a page, reached by a redirect. A redirect cannot be stopped on its way. */
  astray(): string | undefined
}

async function guardOwn(context: BrowserContext, own: OwnPages): Promise<OwnGuard> {
  const isTunnelled = (url: URL) => /^(https|wss):$/.test(url.protocol) && own.origins.includes(url.origin.replace(/^wss:/, "https:"))
  const mayBe = (request: Request) => isOwnPage(new URL(request.url()), own) && ["GET", "HEAD"].includes(request.method())
  let astray: string | undefined
  if (own.origins.some((origin) => origin.startsWith("https:"))) {
    await context.route(isTunnelled, (route) => (mayBe(route.request()) ? route.fallback() : route.abort("blockedbyclient")))
    await context.routeWebSocket(isTunnelled, (socket) => socket.close())
    context.on("request", (request) => {
      const redirected = request.redirectedFrom() !== null && request.isNavigationRequest()
      if (redirected && isTunnelled(new URL(request.url())) && !mayBe(request)) astray = request.url()
    })
  }
  return { astray: () => astray }
}

// Serves an own page directly instead of fetching it: published or not, always in the chosen variant, for any query on its
// address. Form submissions there are answered as if accepted but not stored, since a screenshot is not a visit and creates no
// lead.

interface Giving {
  /** Returns true if a form without a receiving pipeline was sent. */
  refused(): boolean
}

async function giveDocument(page: Page, { url, own, document }: RenderTask): Promise<Giving> {
  let refused = false
  const { pathname } = new URL(url)
  const isThere = (address: URL) => own.origins.includes(address.origin) && address.pathname === pathname
  if (document === undefined) return { refused: () => false }
  await page.route(isThere, async (route) => {
    const request = route.request()
    const reads = ["GET", "HEAD"].includes(request.method())
    if (reads) return request.isNavigationRequest() ? giving(route, document) : route.fallback()
    if (request.isNavigationRequest() && document.thanks !== undefined) return thanking(route, document.thanks)
    if (request.isNavigationRequest()) refused = true
    return route.abort("blockedbyclient")
  })
  return { refused: () => refused }
}

function giving(route: Route, { html, headers }: HtmlDocument): Promise<void> {
  return route.fulfill({ body: html, headers: { ...headers } })
}

/**
 * Not an HTTP redirect, since its target would bypass all routes. The query, even empty, forces a reload; an anchor alone would
 * only scroll.
 */
function thanking(route: Route, thanks: string): Promise<void> {
  return route.fulfill({ body: "", headers: { "Content-Type": "text/html", Refresh: `0;url=${thanks.replace("#", "?#")}` } })
}
