// POST /p/{org}/{page}: a form of the page, sent by a browser with or without scripts. The event goes to the newest
// pipeline that captures the page's records, through the same door as any; a browser that navigated is sent on to the
// page's thank-you anchor unless the pipeline answers for itself.
import type { PipelineEngine, PublicUrl, RouteRequest, RouteResponse } from "#core"
import { escapeAttribute } from "./html.ts"
import type { PageParts } from "./parts.ts"
import { formPath, notFound, type PageServing } from "./serve.ts"

export interface FormDeps {
  readonly serving: PageServing
  readonly parts: PageParts
  readonly engine: PipelineEngine
  readonly publicUrl: PublicUrl
  readonly now: () => number
}

export const thankYouAnchor = "thank-you"

export async function takeForm(deps: FormDeps, request: RouteRequest): Promise<RouteResponse> {
  const found = await deps.serving.published(request)
  const endpoint = found && (await deps.parts.formTarget(found.organization, found.page))
  if (!found || endpoint === undefined) return notFound()
  const answer = await deps.engine.receive(endpoint, {
    method: "POST",
    url: `${deps.publicUrl()}/v1/inbound/${endpoint}`,
    headers: request.headers,
    query: Object.fromEntries(request.query),
    body: Buffer.from(await request.body()),
    receivedAt: deps.now(),
  })
  const page = formPath(found.organization, found.page)
  const navigated = /\btext\/html\b/.test(request.headers["accept"] ?? "")
  if (navigated && answer.byDefault) return { status: 303, headers: { Location: `${page}#${thankYouAnchor}`, "Cache-Control": "no-store" } }
  if (navigated && answer.status >= 400) return refusal(answer, page)
  return { status: answer.status, headers: { "Cache-Control": "no-store", ...answer.headers }, body: answer.body }
}

/** For people: what was wrong, and the way back, where the browser still has what they wrote. */
function refusal(answer: { status: number; body: string; headers: Readonly<Record<string, string>> }, page: string): RouteResponse {
  const why = answer.status < 500 && answer.status !== 401 ? messageOf(answer.body) : "Please try again in a moment."
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Not sent</title><main style="font:1rem/1.5 sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem"><h1>This could not be sent</h1><p>${escapeAttribute(why)}</p><p><a href="${escapeAttribute(page)}">Back to the page</a></p></main></html>`
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy":
      "sandbox allow-top-navigation-by-user-activation; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    ...(answer.headers["retry-after"] === undefined ? {} : { "Retry-After": answer.headers["retry-after"] }),
  }
  return { status: answer.status, headers, body }
}

function messageOf(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown }
    return typeof message === "string" ? message : "Please check what you entered."
  } catch {
    return "Please check what you entered."
  }
}
