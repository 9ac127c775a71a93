// The page of an opt-out or unsubscribe link. It has no scripts, frames or external content. Opening the page changes no data,
// because mail scanners open links.
import { createHash } from "node:crypto"
import { Html, html, type RouteResponse } from "#core"

const style =
  "body{font:16px/1.6 system-ui,sans-serif;max-width:34em;margin:12vh auto;padding:0 1.5em;color:#14161a;background:#fff}button{font:inherit;font-weight:600;padding:.6em 1.4em;border:0;border-radius:8px;background:#2f5bd7;color:#fff;cursor:pointer}@media(prefers-color-scheme:dark){body{color:#f3f4f6;background:#15171b}}"
const styleHash = createHash("sha256").update(style).digest("base64")

/** A button that posts to the page's own address. */
export function confirmation(label: string): Html {
  return html`<form method="post"><input type="hidden" name="confirmed" value="page"><button type="submit">${label}</button></form>`
}

/** Returns the page for an invalid link. */
export function unknownPage(): RouteResponse {
  return linkPage(404, "This link is not valid", html`<p>Open it exactly as it stands in the message.</p>`)
}

export function linkPage(status: number, title: string, content: Html): RouteResponse {
  return {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
      "Cache-Control": "no-store",
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
      "X-Robots-Tag": "noindex",
    },
    body: html`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${new Html(style)}</style><h1>${title}</h1>${content}</html>\n`
      .text,
  }
}

/** Pages of an unsubscribe link: a question, and a confirmation. */
export function askingPage(sender: string, address: string): RouteResponse {
  return linkPage(200, "Unsubscribe?", html`<p>${address} gets no more news and offers from ${sender}.</p>${confirmation("Unsubscribe")}`)
}

export function donePage(sender: string, address: string): RouteResponse {
  return linkPage(200, "You are unsubscribed", html`<p>${address} gets no more news and offers from ${sender}.</p>`)
}
