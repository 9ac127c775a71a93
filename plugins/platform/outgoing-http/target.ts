// Where a call may go: absolute http(s) URLs without credentials. What is wrong is said without repeating path or query,
// which may hold secrets.
import { isIP } from "node:net"
import { AppError } from "#core"
import { type HostRule, isAllowed, plainHost, refusedRange } from "./address-policy.ts"
import { refusal } from "./guarded-connect.ts"

/** Parses and checks; an address written as a number, in octal or hex is what the URL standard makes of it. */
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

/** Refuses a literal address out of bounds before anything is opened; names are checked when they are resolved. */
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
