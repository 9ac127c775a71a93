// What a request says about who is calling.

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

/** The token of `Authorization: Bearer <token>`, or the session's cookie without that header; undefined for anything else, which the authenticator refuses. Throws `invalid_argument` where there are several: node:http would take the first. */
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

/** Whether the call is marked as test traffic. */
export function isTestCall(request: Request): boolean {
  const marker = request.get("x-service-test")
  return marker === "1" || marker?.toLowerCase() === "true"
}

// The session of a browser that has signed in: a credential that comes as a cookie. A page of another site could have the
// browser send it along, so that what changes something, and a socket, is taken from the service's own pages only.

/** The credential in the cookie; undefined where there is none. */
export function sessionOf({ headers }: IncomingMessage, name: string): string | undefined {
  return headers.cookie === undefined ? undefined : parseCookie(headers.cookie)[name] || undefined
}

/**
 * Throws `permission_denied` unless the browser says that one of the service's own pages asks. Browsers name the site to
 * secure and local addresses only; to others, the origin of what is not a plain read.
 */
export function requireSameOrigin({ headers, method }: IncomingMessage): void {
  const { origin, host } = headers
  const site = headers["sec-fetch-site"]
  const isFromOwn = origin === undefined ? method === "GET" : URL.canParse(origin) && new URL(origin).host === host
  if (site === undefined ? isFromOwn : site === "same-origin") return
  const message = `Origin: "${origin ?? ""}" is not this service. With a session in place of a key, only its own pages change anything; send a key.`
  throw new AppError("permission_denied", message, { reason: "origin_not_allowed" })
}
