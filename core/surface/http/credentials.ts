// Credentials of a request.

import type { IncomingMessage } from "node:http"
import { parseCookie } from "cookie"
import type { Request, Response } from "express"
import type { Credentials, Surface } from "../../contract/caller.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"

export function credentialsOf(
  request: Request,
  response: Response,
  { surface, log, address, cookie }: { surface: Surface; log: Logger; address: string; cookie: string },
): Credentials {
  const requestId = String(response.locals["requestId"])
  return {
    bearer: bearerOf(request, cookie),
    organization: request.get("x-organization-id") || undefined,
    surface,
    address,
    requestId,
    log: log.child({ request_id: requestId }),
  }
}

/**
 * Returns the token of `Authorization: Bearer <token>`. Without the header, returns the session's cookie. Returns undefined for
 * other schemes, and the authenticator refuses the call. Throws `invalid_argument` for several headers, because node:http would
 * use the first.
 */
function bearerOf(request: Request, cookie: string): string | undefined {
  const { rawHeaders } = request
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === "authorization") count++
  if (count > 1) {
    throw new AppError("invalid_argument", `The request has ${count} Authorization headers; send one.`, { reason: "multiple_credentials" })
  }
  if (count === 1) return /^Bearer +(\S+) *$/i.exec(request.get("authorization") ?? "")?.[1]
  const session = sessionOf(request, cookie)
  if (session !== undefined && !["GET", "HEAD"].includes(request.method)) requireSameOrigin(request)
  return session
}

/** Returns true for test traffic. */
export function isTestCall(request: Request): boolean {
  const marker = request.get("x-service-test")
  return marker === "1" || marker?.toLowerCase() === "true"
}

// Browser sessions: the credential is a cookie. Pages of other sites could make the browser send it. Changing requests and
// sockets are therefore accepted only from the service's own pages.

/** Returns the credential in the cookie. */
export function sessionOf({ headers }: IncomingMessage, name: string): string | undefined {
  return headers.cookie === undefined ? undefined : parseCookie(headers.cookie)[name] || undefined
}

/**
 * Throws `permission_denied` unless the browser reports one of the service's own pages. Browsers send the site only to secure and
 * local addresses. To other addresses they send the origin, except for plain reads.
 */
export function requireSameOrigin({ headers, method }: IncomingMessage): void {
  const { origin, host } = headers
  const site = headers["sec-fetch-site"]
  const isFromOwn = origin === undefined ? method === "GET" : URL.canParse(origin) && new URL(origin).host === host
  if (site === undefined ? isFromOwn : site === "same-origin") return
  const message = `Origin: "${origin ?? ""}" is not this service. With a session in place of a key, only its own pages change anything; send a key.`
  throw new AppError("permission_denied", message, { reason: "origin_not_allowed" })
}
