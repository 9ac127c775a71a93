// Follows redirects like browsers (Fetch standard, HTTP-redirect fetch), but stricter: at most five, never from https to http,
// and to another origin only with harmless headers.

import { isIP } from "node:net"
import { AppError } from "#core"
import { type HostRule, isAllowed, plainHost, refusedRange } from "./address-policy.ts"
import { refusal } from "./guarded-connect.ts"
import { withoutCredentials } from "./headers.ts"

export interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
}

const maxRedirects = 5
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Returns undefined for a response without redirect. */
export function nextHop(
  hop: Hop,
  answer: { status: number; headers: Readonly<Record<string, string>> },
  followed: number,
  policy: "follow" | "same_origin",
): Hop | undefined {
  const location = answer.headers["location"]
  if (!redirectStatuses.has(answer.status) || location === undefined) return undefined
  if (followed >= maxRedirects) throw redirectError(`${hop.url.origin} redirects more than ${maxRedirects} times`, "too_many_redirects")
  if (!URL.canParse(location, hop.url.href)) throw redirectError(`${hop.url.origin} redirects to an invalid URL`, "invalid_redirect")
  const url = parseTarget(new URL(location, hop.url).href)
  if (hop.url.protocol === "https:" && url.protocol === "http:") {
    throw redirectError(`${hop.url.origin} redirects from https to http (${url.host})`, "redirect_downgrade")
  }
  const sameOrigin = url.origin === hop.url.origin
  if (!sameOrigin && policy === "same_origin")
    throw redirectError(`${hop.url.origin} redirects to another origin, ${url.origin}`, "cross_origin_redirect")
  const becomesGet = (answer.status === 303 && hop.method !== "HEAD") || (answer.status < 303 && hop.method === "POST")
  const forwarded = sameOrigin ? hop.headers : withoutCredentials(hop.headers)
  if (!becomesGet) return { ...hop, url, headers: forwarded }
  const headers = Object.fromEntries(Object.entries(forwarded).filter(([name]) => !name.startsWith("content-")))
  return { url, method: "GET", headers, body: undefined }
}

type Refusal = "cross_origin_redirect" | "invalid_redirect" | "redirect_downgrade" | "too_many_redirects"

function redirectError(problem: string, reason: Refusal): AppError {
  return new AppError("failed_precondition", `Redirect refused: ${problem}.`, { reason, retryable: false })
}

// Permitted targets of calls: absolute http(s) URLs without credentials. Errors omit path and query, because they may contain
// secrets.

/** Parses and checks a URL. The URL standard converts addresses in decimal, octal or hex notation. */
export function parseTarget(text: string): URL {
  if (text.length > 8_192) throw bad(`the URL is ${text.length} characters long; the limit is 8,192`)
  if (!URL.canParse(text)) throw bad("the URL is not absolute; expected a URL such as https://api.example.com/path")
  const url = new URL(text)
  if (url.protocol !== "http:" && url.protocol !== "https:") throw bad(`the scheme "${url.protocol.slice(0, 20)}" is not http: or https:`)
  if (url.username || url.password) throw bad("the URL holds a user name or password; send credentials in a header")
  url.hash = ""
  return url
}

function portOf(url: URL): string {
  return url.port || (url.protocol === "https:" ? "443" : "80")
}

/** Refuses a literal address out of bounds before a connection is opened. Names are checked at resolution. */
export function checkLiteral(rules: readonly HostRule[], url: URL): void {
  const host = plainHost(url.hostname)
  const port = portOf(url)
  const range = isIP(host) === 0 || isAllowed(rules, host, port) ? undefined : refusedRange(host)
  if (range) throw refusal(host, port, host, range)
}

function bad(problem: string): AppError {
  return new AppError("invalid_argument", `Outgoing call refused: ${problem}.`, {
    reason: "url_refused",
    retryable: false,
    fields: [{ path: "url", message: problem }],
  })
}
