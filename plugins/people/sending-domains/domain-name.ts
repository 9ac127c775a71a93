// Parses domain names from people with the public suffix list: lower case, punycode, an apex or a subdomain.
import { domainToASCII } from "node:url"
import { parse } from "tldts"
import { AppError } from "#core"

export interface DomainName {
  /** Lower case, punycode. */
  readonly name: string
  /** The registrable domain at or above the name. Its DNS zone usually starts there. */
  readonly apex: string
}

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** The conversion to ASCII ends a name at these characters, and decodes text after a %. */
const foreign = /[/\\?#%@:\s]/
/** Leaves room for `<selector>._domainkey.` within the 253 characters of a name. */
const maxLength = 220

/** Throws `invalid_argument` if the text is not a registrable domain or subdomain. */
export function readDomain(text: string): DomainName {
  const name = asciiOf(text)
  if (foreign.test(text.trim()) || name.length > maxLength || !name.includes(".") || !name.split(".").every((part) => label.test(part)))
    throw refused(text, "is not a domain name; give it without scheme, path or address, such as example.com")
  const { domain, publicSuffix, isIcann, isPrivate, isIp } = parse(name, { allowPrivateDomains: true })
  if (isIp) throw refused(text, "is an IP address, not a domain name")
  if (!isIcann && !isPrivate) throw refused(text, `ends in .${publicSuffix}, which the public suffix list does not know`)
  if (!domain) throw refused(text, "is a public suffix, under which others register domains; give a domain of your own")
  return { name, apex: domain }
}

/** Returns the normalized domain name. Other text stays unchanged, and `readDomain` refuses it. */
export function nameOf(text: string): string {
  return foreign.test(text.trim()) ? text : asciiOf(text) || text
}

/** Normalizes a name as `readDomain` does, but without validation. For lookups of registered domains. */
export function asciiOf(text: string): string {
  return domainToASCII(text.trim().replace(/\.$/, "")).toLowerCase()
}

function refused(text: string, problem: string): AppError {
  return new AppError("invalid_argument", `domain: ${JSON.stringify(text.slice(0, 100))} ${problem}.`, {
    reason: "domain_refused",
    fields: [{ path: "domain", message: problem }],
  })
}
