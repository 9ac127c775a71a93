// Renders content to a message: subject, HTML in the standard look, and equivalent plain text. The caller supplies values only. A
// value cannot inject markup, headers or scripts.
import { linkifyit } from "linkify-it"
import parts from "./template/parts.generated.json" with { type: "json" }

export interface MailContent {
  /** Default: the heading. */
  readonly subject?: string | undefined
  readonly heading: string
  readonly intro?: string | undefined
  readonly fields?: readonly { readonly label: string; readonly value: string }[] | undefined
  /** Left out unless `url` is an http(s) URL. See `buttonUrl`. */
  readonly button?: { readonly label: string; readonly url: string } | undefined
}

export interface RenderedMail {
  readonly subject: string
  readonly html: string
  readonly text: string
}

/** Limits in characters, for a value and for all values of a mail together. Longer text is cut. */
const maxValue = 20_000
const maxContent = 200_000
/** Limit in characters of the link search. The search is slow, and senders choose the text. */
const maxSearched = 10_000

/** Renders a mail. `unsubscribeUrl` appears below the footer. */
export function renderMail(content: MailContent, footer: string, unsubscribeUrl?: string): RenderedMail {
  const heading = oneLine(content.heading)
  const subject = oneLine(content.subject ?? "", 250) || oneLine(content.heading, 250) || footer
  const intro = block(content.intro ?? "")
  let left = maxContent - intro.length
  const fields = (content.fields ?? []).map(({ label, value: given }) => {
    const value = block(given, Math.min(maxValue, Math.max(0, left)))
    left -= value.length
    return { label: oneLine(label, 200), value }
  })
  let searched = 0
  const valueHtml = (text: string) => {
    searched += text.length
    return searched <= maxSearched ? linkedHtml(text) : plainHtml(text)
  }
  const url = content.button && buttonUrl(content.button.url)
  const button = content.button && url ? { label: oneLine(content.button.label, 200) || url, url } : undefined
  const preview = oneLine(intro || fields.map(({ label, value }) => `${label}: ${value}`).join(" · ") || heading, 140)
  const html = fill(parts.page, {
    title: escapeHtml(subject),
    preview: escapeHtml(preview),
    heading: escapeHtml(heading),
    footer: escapeHtml(footer) + (unsubscribeUrl === undefined ? "" : `<br>${anchor(unsubscribeUrl, "Unsubscribe")}`),
    intro_part: intro ? fill(parts.intro, { intro: valueHtml(intro) }) : "",
    fields_part: fields.length > 0 ? fill(parts.fields, { field_part: fields.map((field) => fieldHtml(field, valueHtml)).join("\n") }) : "",
    button_part: button ? fill(parts.button, { url: escapeHtml(button.url), button_label: escapeHtml(button.label) }) : "",
  })
  const lines = fields.map(
    ({ label, value }) => `${label}: ${value.includes("\n") ? `\n  ${value.replaceAll("\n", "\n  ")}` : value || "—"}`,
  )
  const unsubscribe = unsubscribeUrl === undefined ? "" : `\nUnsubscribe: ${unsubscribeUrl}`
  const paragraphs = [
    heading,
    intro,
    lines.join("\n"),
    button ? `${button.label}: ${button.url}` : "",
    footer || unsubscribe ? `-- \n${footer}${unsubscribe}` : "",
  ]
  return { subject, html, text: `${paragraphs.filter((paragraph) => paragraph !== "").join("\n\n")}\n` }
}

/** Returns the URL of a button, or undefined for other schemes than http(s). */
export function buttonUrl(text: string): string | undefined {
  const url = safeUrl(text.trim())
  return url && !url.startsWith("mailto:") ? url : undefined
}

function fieldHtml({ label, value }: { label: string; value: string }, valueHtml: (text: string) => string): string {
  return fill(parts.field, { label: escapeHtml(label), value: value ? valueHtml(value) : "&mdash;" })
}

/** A single pass: placeholders inside values are not replaced. */
function fill(part: string, values: Readonly<Record<string, string>>): string {
  return part.replace(/%%([a-z_]+)%%/g, (_place, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`The mail template has an unknown placeholder "${name}"; run template/build.ts again.`)
    return value
  })
}

/** Returns header-safe text: replaces line breaks and control characters by a space. */
function oneLine(text: string, length = 500): string {
  return text
    .slice(0, 4 * length)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim()
    .slice(0, length)
    .toWellFormed()
}

function block(text: string, most = maxValue): string {
  const clean = text
    .slice(0, 2 * maxValue)
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .trim()
  return clean.length > most ? `${clean.slice(0, most).toWellFormed()}…` : clean.toWellFormed()
}

// Converts plain text to HTML: escapes the text and links web addresses, mail addresses and international phone numbers. Links
// use http, https, mailto and tel only.

const links = linkifyit({ fuzzyLink: true, fuzzyEmail: true, fuzzyIP: false, urlAuth: true, maxLength: 2_048 })
  .add("ftp:", null)
  .add("//", null)

/** `+`, then 7 to 15 digits with the usual separators (E.164). */
const phone = /(?<![\w+])\+\d(?:[ ().-]{0,2}\d){6,14}(?!\w)/g

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" }

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "")
}

/** Returns escaped text with line breaks and without links. */
function plainHtml(text: string): string {
  return escapeHtml(text).replace(/\r?\n|\r/g, "<br>")
}

/** Returns escaped text with line breaks and links. */
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

/** Returns the normalized URL if a click only opens a page or a new message. */
function safeUrl(text: string): string | undefined {
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
