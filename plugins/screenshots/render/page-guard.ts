// Our own origin over TLS: the proxy lets it through without seeing paths, so the browser is held to what the proxy
// lets through over plain HTTP, which is reading pages.
import type { BrowserContext, Request } from "playwright-core"
import { isOwnPage, type OwnPages } from "../proxy/targets.ts"

export interface OwnGuard {
  /** A document of ours that is not a page and was come to by a redirect, which cannot be stopped on its way. */
  astray(): string | undefined
}

export async function guardOwn(context: BrowserContext, own: OwnPages): Promise<OwnGuard> {
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
