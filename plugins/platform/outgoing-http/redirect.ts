// Where a redirect leads, as browsers do it (Fetch standard, HTTP-redirect fetch), but stricter: at most five, never
// from https to http, and to another origin only headers that cannot be credentials.
import { AppError } from "#core"
import { withoutCredentials } from "./headers.ts"
import { parseTarget } from "./target.ts"

export interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
}

const maxRedirects = 5
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Undefined when the answer is not a redirect. */
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
