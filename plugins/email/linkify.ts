// Text as it arrived becomes HTML: everything escaped, and web addresses, mail addresses and international phone
// numbers in it clickable. Nothing but http, https, mailto and tel becomes a link.
import { linkifyit } from "linkify-it"

const links = linkifyit({ fuzzyLink: true, fuzzyEmail: true, fuzzyIP: false, urlAuth: true, maxLength: 2_048 })
  .add("ftp:", null)
  .add("//", null)

/** `+`, then 7 to 15 digits with the usual separators (E.164). */
const phone = /(?<![\w+])\+\d(?:[ ().-]{0,2}\d){6,14}(?!\w)/g

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" }

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "")
}

/** Escaped, with line breaks kept and nothing clickable. */
export function plainHtml(text: string): string {
  return escapeHtml(text).replace(/\r?\n|\r/g, "<br>")
}

/** Escaped, with line breaks kept. */
export function linkedHtml(text: string): string {
  let html = ""
  let done = 0
  for (const match of links.match(text) ?? []) {
    const url = safeUrl(match.url)
    if (!url) continue
    html += withPhones(text.slice(done, match.index)) + anchor(url, text.slice(match.index, match.lastIndex))
    done = match.lastIndex
  }
  return (html + withPhones(text.slice(done))).replace(/\r?\n|\r/g, "<br>")
}

/** The URL in its normal form, when a click on it does no more than open a page or a new message. */
export function safeUrl(text: string): string | undefined {
  if (text.length > 2_048 || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol === "mailto:") return url.href
  return (url.protocol === "http:" || url.protocol === "https:") && !url.username && !url.password ? url.href : undefined
}

function withPhones(text: string): string {
  let html = ""
  let done = 0
  for (const match of text.matchAll(phone)) {
    html += escapeHtml(text.slice(done, match.index)) + anchor(`tel:+${match[0].replace(/\D/g, "")}`, match[0])
    done = match.index + match[0].length
  }
  return html + escapeHtml(text.slice(done))
}

function anchor(url: string, text: string): string {
  return `<a href="${escapeHtml(url)}">${escapeHtml(text)}</a>`
}
