// What a person sees who opens an unsubscribe link: a page that asks, and one that confirms.
import { html, type RouteResponse } from "#core"
import { confirmation, linkPage } from "./link-page.ts"

export function askingPage(sender: string, address: string): RouteResponse {
  return linkPage(200, "Unsubscribe?", html`<p>${address} gets no more news and offers from ${sender}.</p>${confirmation("Unsubscribe")}`)
}

export function donePage(sender: string, address: string): RouteResponse {
  return linkPage(200, "You are unsubscribed", html`<p>${address} gets no more news and offers from ${sender}.</p>`)
}
