// Mail addresses as people and events give them, taken apart strictly: what is left over, ambiguous or could start a new
// header is refused. Names may be in any script; the domain is turned to punycode when it is sent.
import { domainToASCII } from "node:url"
import { z } from "zod"
import { AppError } from "#core"

export interface MailAddress {
  /** Empty when none was given. */
  readonly name: string
  readonly address: string
}

const controls = /[\p{Cc}\u2028\u2029]/u
const localPart = /^[^\s"(),:;<>@[\\\]\p{Cc}]{1,64}$/u
/** `Name <address>`, `"Name" <address>` or the address alone; nothing else, so that no text has two readings. */
const mailbox = /^(?:(?:"(?<quoted>(?:[^"\\]|\\.)*)"\s*|(?<name>[^"<>@:;,\\]*))<(?<bracketed>[^<>]*)>|(?<bare>[^<>\s]+))$/u
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

/** One or more addresses, separated by commas, each `a@b.test` or `Name <a@b.test>`. Throws `invalid_argument` naming the field. */
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

/** Cut at commas outside quotes; a quote that nothing closes is a character like others. */
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
 * Removes characters without a glyph: zero-width spaces, marks of direction, byte order marks, soft hyphens. A no-break space
 * becomes a space, a full-width ＠ or digit the plain character. Texts that people copy hold them.
 */
export function visibleText(text: string): string {
  if (!special.test(text)) return text
  return text
    .replace(hidden, "")
    .replace(spaces, " ")
    .replace(wide, (character) => String.fromCharCode(character.charCodeAt(0) - 0xfee0))
    .replaceAll("\uFE6B", "@")
}

/** The part behind the @, in lower case. */
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
 * One spelling of an address: lower case, NFC, the domain in punycode, no hidden characters. What stands behind a plus and between dots stays: only the recipient's own
 * server knows whether it means anything.
 */
export function normalAddress(address: string): string {
  const visible = visibleText(address)
  const at = visible.lastIndexOf("@")
  return `${visible.slice(0, at).normalize("NFC").toLowerCase()}@${domainToASCII(visible.slice(at + 1)).replace(/\.$/, "")}`
}

/** Exactly one address; for values that an event supplies, which must not become a list. */
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
