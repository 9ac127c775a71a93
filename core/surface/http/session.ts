// The session of a browser that has signed in: a credential that comes as a cookie. A page of another site could have the
// browser send it along, so that what changes something, and a socket, is taken from the service's own pages only.
import type { IncomingMessage } from "node:http"
import { parseCookie } from "cookie"
import { AppError } from "../../kernel/errors.ts"

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
