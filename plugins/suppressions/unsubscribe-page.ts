// What a person sees who opens an unsubscribe link: a page that asks, and one that confirms. Without scripts, frames and
// anything from elsewhere; opening it changes nothing, since mail scanners open links.
import { createHash } from "node:crypto"
import type { RouteResponse } from "#core"

const style =
  "body{font:16px/1.6 system-ui,sans-serif;max-width:34em;margin:12vh auto;padding:0 1.5em;color:#14161a;background:#fff}button{font:inherit;font-weight:600;padding:.6em 1.4em;border:0;border-radius:8px;background:#2f5bd7;color:#fff;cursor:pointer}@media(prefers-color-scheme:dark){body{color:#f3f4f6;background:#15171b}}"
const styleHash = createHash("sha256").update(style).digest("base64")

export function askingPage(sender: string, address: string): RouteResponse {
  const form = `<form method="post"><input type="hidden" name="confirmed" value="page"><button type="submit">Unsubscribe</button></form>`
  return page(200, "Unsubscribe?", `<p>${escaped(address)} gets no more news and offers from ${escaped(sender)}.</p>${form}`)
}

export function donePage(sender: string, address: string): RouteResponse {
  return page(200, "You are unsubscribed", `<p>${escaped(address)} gets no more news and offers from ${escaped(sender)}.</p>`)
}

export function unknownPage(): RouteResponse {
  return page(404, "This link is not valid", "<p>Open it exactly as it stands in the message.</p>")
}

function page(status: number, title: string, content: string): RouteResponse {
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
    body: `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${style}</style><h1>${title}</h1>${content}</html>\n`,
  }
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" }

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "")
}
