// Parses mail addresses from people and events strictly. Rejects extra text, ambiguity and header injection. Names may be in any
// script. The domain is converted to punycode at sending.
import { domainToASCII } from "node:url"
import { z } from "zod"
import { AppError } from "#core"

export interface MailAddress {
  /** Empty if absent. */
  readonly name: string
  readonly address: string
}

const controls = /[\p{Cc}\u2028\u2029]/u
const localPart = /^[^\s"(),:;<>@[\\\]\p{Cc}]{1,64}$/u
/** Accepts `Name <address>`, `"Name" <address>` or a bare address. Each text has a single reading. */
const mailbox = /^(?:(?:"(?<quoted>(?:[^"\\]|\\.)*)"\s*|(?<name>[^"<>@:;,\\]*))<(?<bracketed>[^<>]*)>|(?<bare>[^<>\s]+))$/u
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

/** Parses addresses separated by commas, each `a@b.test` or `Name <a@b.test>`. Throws `invalid_argument` naming the field. */
export function parseAddresses(text: string, field: string): MailAddress[] {
  if (controls.test(text)) throw bad(field, "a line break or control character in an address")
  if (text.length > 10_000) throw bad(field, "more than 10,000 characters")
  return entriesOf(text).map((entry) => {
    const match = mailbox.exec(entry.trim())
    const written = match?.groups?.["bracketed"] ?? match?.groups?.["bare"]
    const address = written === undefined ? undefined : visibleText(written)
    if (address === undefined || !isMailAddress(address))
      throw bad(field, `${JSON.stringify(entry.trim().slice(0, 100))}, which is not a mail address`)
    const name = match?.groups?.["quoted"]?.replace(/\\(.)/gu, "$1") ?? match?.groups?.["name"] ?? ""
    return { name: name.trim().slice(0, 200).toWellFormed(), address }
  })
}

/** Splits at commas outside quotes. An unclosed quote is an ordinary character. */
function entriesOf(text: string): string[] {
  const entries: string[] = []
  const closing = text.lastIndexOf('"')
  let begin = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (quoted && character === "\\") at++
    else if (character === '"') quoted = !quoted && at < closing
    else if (character === "," && !quoted) {
      entries.push(text.slice(begin, at))
      begin = at + 1
    }
  }
  return [...entries, text.slice(begin)].filter((entry, _, all) => entry !== "" || all.length === 1)
}

const special = /[^\x20-\x7E]/
const hidden = /\p{Default_Ignorable_Code_Point}/gu
const spaces = /[\u00A0\u2007\u202F]/g
const wide = /[\uFF01-\uFF5E]/g

/**
 * Removes characters without a glyph: zero-width spaces, direction marks, byte order marks, soft hyphens. Converts a no-break
 * space to a space, and a full-width ＠ or digit to the plain character. Copied texts contain these characters.
 */
export function visibleText(text: string): string {
  if (!special.test(text)) return text
  return text
    .replace(hidden, "")
    .replace(spaces, " ")
    .replace(wide, (character) => String.fromCharCode(character.charCodeAt(0) - 0xfee0))
    .replaceAll("\uFE6B", "@")
}

/** Returns the part after the @, in lower case. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1).toLowerCase()
}

export function isMailAddress(text: string): boolean {
  const at = text.lastIndexOf("@")
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)]
  if (at < 1 || !localPart.test(local) || /^\.|\.\.|\.$/.test(local) || /[\s\p{Cc}%[\]/?#]/u.test(domain)) return false
  const ascii = domainToASCII(domain)
  return ascii.length > 0 && ascii.length <= 253 && ascii.split(".").every((part) => label.test(part))
}

/**
 * Normalizes an address: lower case, NFC, the domain in punycode, no hidden characters. Leaves plus suffixes and dots unchanged:
 * only the recipient's server interprets them.
 */
export function normalAddress(address: string): string {
  const visible = visibleText(address)
  const at = visible.lastIndexOf("@")
  return `${visible.slice(0, at).normalize("NFC").toLowerCase()}@${domainToASCII(visible.slice(at + 1)).replace(/\.$/, "")}`
}

/** Exactly one address. For values from events, to prevent address lists. */
export const OneMailAddress = z
  .string()
  .max(500)
  .refine(
    holds((count) => count === 1),
    "expected one mail address, such as Ada <ada@example.com>",
  )

export const MailAddressList = z
  .string()
  .max(10_000)
  .refine(
    holds((count) => count >= 1),
    "expected mail addresses separated by commas",
  )

function holds(enough: (count: number) => boolean) {
  return (text: string): boolean => {
    try {
      return enough(parseAddresses(text, "address").length)
    } catch {
      return false
    }
  }
}

function bad(field: string, problem: string): AppError {
  return new AppError("invalid_argument", `The mail was not sent: ${field} holds ${problem}.`, {
    reason: "invalid_address",
    retryable: false,
    fields: [{ path: field, message: problem }],
  })
}
