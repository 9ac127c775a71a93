// A page of our own, given instead of fetched: published or not, and always in the variant that is pictured, wherever on
// its own address it leads. What it sends there goes nowhere, since a picture is not a visit and makes no lead: a form is
// answered as visitors are when all goes well.
import type { Page, Route } from "playwright-core"
import type { GivenDocument, RenderTask } from "./order.ts"

export interface Giving {
  /** Whether a form was sent that nothing takes. */
  refused(): boolean
}

export async function giveDocument(page: Page, { url, own, document }: RenderTask): Promise<Giving> {
  let refused = false
  const { pathname } = new URL(url)
  const isThere = (asked: URL) => own.origins.includes(asked.origin) && asked.pathname === pathname
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

function giving(route: Route, { html, headers }: GivenDocument): Promise<void> {
  return route.fulfill({ body: html, headers: { ...headers } })
}

/**
 * Not by a redirect, since what that leads to is asked for past all routes. With a query, though an empty one: to an
 * anchor of its own address a document only scrolls.
 */
function thanking(route: Route, thanks: string): Promise<void> {
  return route.fulfill({ body: "", headers: { "Content-Type": "text/html", Refresh: `0;url=${thanks.replace("#", "?#")}` } })
}
