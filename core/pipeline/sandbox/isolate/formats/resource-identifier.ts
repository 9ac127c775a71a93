// `uri`, `uri-reference` (RFC 3986), `iri`, `iri-reference` (RFC 3987) and `uri-template` (RFC 6570). A text is first split into
// parts (RFC 3986, appendix B). Each part is then checked in a single pass.
import { isIpv6 } from "./email.ts"

const parts = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s
const scheme = /^[a-z][a-z0-9+.-]*$/i
const future = /^v[0-9a-f]+\.[a-z0-9\-._~!$&'()*+,;=:]+$/i
const international = "\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}\\u{10000}-\\u{dffff}\\u{e1000}-\\u{efffd}"
const privateUse = "\\u{e000}-\\u{f8ff}\\u{f0000}-\\u{10fffd}"
const unreserved = "a-z0-9\\-._~!$&'()*+,;="

interface Charset {
  readonly user: RegExp
  readonly name: RegExp
  readonly path: RegExp
  readonly query: RegExp
  readonly fragment: RegExp
}

function charset(more: string, inQuery: string): Charset {
  const only = (characters: string) => new RegExp(`^(?:[${characters}]|%[0-9a-f]{2})*$`, "iu")
  return {
    user: only(`${unreserved}:${more}`),
    name: only(`${unreserved}${more}`),
    path: only(`${unreserved}:@/${more}`),
    query: only(`${unreserved}:@/?${more}${inQuery}`),
    fragment: only(`${unreserved}:@/?${more}`),
  }
}

const plain = charset("", "")
const wide = charset(international, privateUse)

export const isUri = (text: string) => fits(text, plain, true)
export const isUriReference = (text: string) => fits(text, plain, false)
export const isIri = (text: string) => fits(text, wide, true)
export const isIriReference = (text: string) => fits(text, wide, false)

function fits(text: string, allowed: Charset, needsScheme: boolean): boolean {
  const [whole, given, authority, path = "", query = "", fragment = ""] = parts.exec(text) ?? []
  if (whole === undefined || (given === undefined ? needsScheme : !scheme.test(given))) return false
  if (authority !== undefined && !isAuthority(authority, allowed)) return false
  return allowed.path.test(path) && allowed.query.test(query) && allowed.fragment.test(fragment)
}

function isAuthority(authority: string, allowed: Charset): boolean {
  const at = authority.indexOf("@")
  if (at >= 0 && !allowed.user.test(authority.slice(0, at))) return false
  const place = authority.slice(at + 1)
  const [whole, literal, name = "", port = ""] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(.*))?$/s.exec(place) ?? []
  if (whole === undefined || !/^\d*$/.test(port)) return false
  return literal === undefined ? allowed.name.test(name) : isIpv6(literal) || future.test(literal)
}

const variable = "(?:[a-z0-9_]|%[0-9a-f]{2})(?:\\.?(?:[a-z0-9_]|%[0-9a-f]{2}))*(?::[1-9]\\d{0,3}|\\*)?"
const literal = `[!#$&-;=?-[\\]_a-z~${international}${privateUse}]|%[0-9a-f]{2}`
const template = new RegExp(`^(?:${literal}|\\{[+#./;?&=,!@|]?${variable}(?:,${variable})*\\})*$`, "iu")

export function isUriTemplate(text: string): boolean {
  return template.test(text)
}
