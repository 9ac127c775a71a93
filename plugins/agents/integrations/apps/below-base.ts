// Builds a request below an app's base URL, with credentials. A step reaches only paths below the base, and cannot replace a
// credential.
import { AppError, type OutgoingRequest } from "#core"
import { checkHeaders, encodeBody, withQuery } from "../../../platform/outgoing-http/index.ts"
import type { IntegrationRequest } from "../app.ts"

export interface Base {
  readonly url: string
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** Origins of the API's files. The credentials are sent there as well. */
  readonly fileOrigins?: readonly string[]
}

export function requestBelow(base: Base, request: IntegrationRequest): OutgoingRequest {
  const own = checkHeaders(base.headers)
  if (request.file) return fileRequest(base, request.file, own)
  const url = urlBelow(base.url, request.path)
  const requestHeaders = checkHeaders(request.headers ?? {})
  const clash = Object.keys(requestHeaders).find((name) => Object.hasOwn(own, name))
  if (clash) throw refused("headers", `"${clash}" belongs to the integration's credentials`)
  const secret = base.query ?? {}
  const secretName = Object.keys(request.query ?? {}).find((name) => Object.hasOwn(secret, name))
  if (secretName !== undefined) throw refused("query", `"${secretName}" belongs to the integration's credentials`)
  const { body, headers } = encodeBody(request.body, { ...own, ...requestHeaders })
  return {
    url: withQuery(url, { ...request.query, ...secret }),
    method: request.method,
    headers,
    ...(body === undefined ? {} : { body }),
    redirects: "same_origin",
  }
}

/** Follows redirects. Credentials are not sent to another origin. */
function fileRequest(
  base: Base,
  { url, maxBytes }: NonNullable<IntegrationRequest["file"]>,
  headers: Record<string, string>,
): OutgoingRequest {
  const origins = [new URL(base.url).origin, ...(base.fileOrigins ?? [])]
  if (!URL.canParse(url) || !origins.includes(new URL(url).origin)) throw refused("file.url", `it is not at ${origins.join(" or ")}`)
  return { url: withQuery(url, base.query ?? {}), method: "GET", headers, maxFileBytes: maxBytes, redirects: "follow" }
}

/** Rejects dot segments in any encoding, so a value in a path cannot leave the base. */
function urlBelow(base: string, path: string): string {
  if (!path.startsWith("/") || path.startsWith("//")) throw refused("path", 'it must start with one "/"')
  if (/[\\?#\s\p{Cc}]/u.test(path)) throw refused("path", "it holds a space, backslash, ? or #; use the field query")
  if (path.split("/").some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) throw refused("path", "it holds a . or .. segment")
  const url = new URL(base.replace(/\/$/, "") + path)
  if (url.origin !== new URL(base).origin) throw refused("path", "it is at another origin")
  return url.href
}

function refused(field: string, problem: string): AppError {
  return new AppError("invalid_argument", `The integration was not called: ${field} is not valid, ${problem}.`, {
    reason: "request_refused",
    retryable: false,
    fields: [{ path: field, message: problem }],
  })
}
