// `email` (RFC 5321, section 4.1.2: a mailbox) and `idn-email` (RFC 6531).
import { fullFormats } from "ajv-formats/dist/formats.js"
import { isUsualEmail } from "../../text/usual-email.ts"

const longest = 1_000
const word = /^[a-z0-9!#$%&'*+/=?^_`{|}~\u{80}-\u{10ffff}-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~\u{80}-\u{10ffff}-]+)*$/iu
const quoted = /^"(?:[ !#-[\]-~\u{80}-\u{10ffff}]|\\[ -~])*"$/u
const label = /^[a-z0-9\u{80}-\u{10ffff}](?:[a-z0-9\u{80}-\u{10ffff}-]*[a-z0-9\u{80}-\u{10ffff}])?$/iu
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII.
const ascii = /^[\u0000-\u007f]*$/

export function isEmail(text: string): boolean {
  return isUsualEmail(text) || isOtherEmail(text)
}

function isOtherEmail(text: string): boolean {
  return ascii.test(text) && isIdnEmail(text)
}

export function isIdnEmail(text: string): boolean {
  const at = text.lastIndexOf("@")
  if (at < 1 || text.length > longest) return false
  const local = text.slice(0, at)
  return (word.test(local) || quoted.test(local)) && isDomain(text.slice(at + 1))
}

function isDomain(domain: string): boolean {
  if (domain.startsWith("[") && domain.endsWith("]")) {
    const literal = domain.slice(1, -1)
    return /^ipv6:/i.test(literal) ? isIpv6(literal.slice(5)) : isIpv4(literal)
  }
  // A mailbox on the internet has a domain with a dot.
  const labels = domain.split(".")
  return labels.length > 1 && labels.every((each) => each.length <= 63 && label.test(each))
}

const ipv4 = fullFormats.ipv4 as RegExp
const ipv6 = fullFormats.ipv6 as RegExp

/** IPv4 and IPv6 addresses for other formats. */
function isIpv4(text: string): boolean {
  return ipv4.test(text)
}

export function isIpv6(text: string): boolean {
  return ipv6.test(text)
}
