// Permitted names and values of outgoing headers: RFC 9110 tokens and visible text. The client controls framing and routing.
import { AppError } from "#core"

/** Set by the client or the connection. A caller's value could smuggle a second request or another host. */
export const refusedHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

/** Headers permitted after a redirect to another origin. Any other header might be a credential. */
const harmless: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "content-language",
  "content-type",
  "user-agent",
])

const tokenPattern = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i
const valuePattern = /^[\t\x20-\x7e\x80-\xff]*$/

/** Returns the headers with names in lower case. Throws `invalid_argument` with the header name, never with its value. */
export function checkHeaders(
  input: Readonly<Record<string, string>>,
  refusedNames: ReadonlySet<string> = refusedHeaders,
): Record<string, string> {
  const checked: Record<string, string> = {}
  for (const [name, value] of Object.entries(input)) {
    const lower = name.toLowerCase()
    if (name.length > 200 || !tokenPattern.test(name)) throw bad(name, `${JSON.stringify(name.slice(0, 60))} is not a header name`)
    if (refusedNames.has(lower)) throw bad(name, `"${name}" may not be set; it is set by the connection`)
    if (Object.hasOwn(checked, lower)) throw bad(name, `"${name}" is given twice`)
    if (value.length > 8_192 || !valuePattern.test(value)) {
      throw bad(
        name,
        `the value of "${name}" holds a line break, a control character or a character outside Latin-1, or is longer than 8,192`,
      )
    }
    checked[lower] = value.trim()
  }
  return checked
}

export function withoutCredentials(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.has(name)))
}

function bad(name: string, problem: string): AppError {
  const path = `headers.${name.slice(0, 60)}`
  return new AppError("invalid_argument", `Header refused: ${problem}.`, {
    reason: "header_refused",
    retryable: false,
    fields: [{ path, message: problem }],
  })
}
