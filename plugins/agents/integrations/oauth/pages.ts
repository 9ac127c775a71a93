// Pages of an authorization: the request for access, and the result. Plain HTML without scripts. Names in the pages are
// untrusted.
import { type Html, html, noHtml, type RouteResponse } from "#core"
import type { ConnectionLink } from "../connection-links.ts"
import type { Authorization } from "./collections.ts"

const unstored = { "Cache-Control": "no-store", "Referrer-Policy": "no-referrer" }

export interface Asked {
  readonly app: string
  readonly connection: string
  readonly organization: string
  readonly scopes: readonly string[]
  /** Address of the authorization server. */
  readonly location: string
}

/** Shows the recipient of the access before the browser continues, because anyone may have sent the link. */
export function askingPage(
  { app, connection, organization, scopes, location }: Asked,
  { cookie, done }: { readonly cookie?: string; readonly done?: string },
): RouteResponse {
  const names = scopes.map((scope, index) => html`<code>${scope}</code>${index + 1 < scopes.length ? "," : ""}`)
  const body = [
    html`<h1>Connect ${app}</h1>`,
    html`<p>The organization <strong>${organization}</strong> asks for access to your account at ${app}, as its integration <strong>${connection}</strong>. Everyone there who may use the integration then acts with your access.</p>`,
    scopes.length > 0 ? html`<p>It is asked for: ${names}.</p>` : noHtml,
    html`<p><a id="continue" rel="noreferrer"${done === undefined ? noHtml : html` target="_blank"`} href="${location}">Continue to ${new URL(location).host}</a></p>`,
    html`<p>Did you not begin this yourself? Then close this window.</p>`,
    done === undefined ? noHtml : html`<p>When you have granted access there: <a id="done" href="${done}">go on here</a>.</p>`,
  ]
  const { headers, ...page } = pageOf(200, `Connect ${app}`, body)
  return { ...page, headers: { ...headers, ...(cookie === undefined ? {} : { "Set-Cookie": cookie }) } }
}

/** The end of an authorization. */
export interface Ending {
  /** Status of the page if the browser is not redirected. */
  readonly status: number
  /** Parameters of the return address. */
  readonly result: Readonly<Record<string, string>>
  readonly text: string
}

/** Redirects the browser to return_url, else to the connection's page, else shows a page with the text. */
export function ended(
  { return_url, integration_id }: Pick<Authorization, "return_url" | "integration_id">,
  links: readonly ConnectionLink[],
  { status, result, text }: Ending,
): RouteResponse {
  const target = return_url || links.at(-1)?.(integration_id)
  if (target === undefined) return messagePage(status, text)
  const url = new URL(target)
  for (const [name, value] of Object.entries({ ...result, integration_id })) url.searchParams.set(name, value)
  return { status: 303, headers: { ...unstored, Location: url.href } }
}

export function messagePage(status: number, text: string): RouteResponse {
  return pageOf(status, "Millrace", [html`<p>${text}</p>`])
}

function pageOf(status: number, title: string, body: readonly Html[]): RouteResponse {
  const headers = {
    ...unstored,
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
  }
  return {
    status,
    headers,
    body: html`<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>\n${body}\n</html>\n`.text,
  }
}
