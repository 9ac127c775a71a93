// Only pages of the service may open and end sessions. Reads their JSON bodies.

import { parseCookie, stringifySetCookie } from "cookie"
import type { z } from "zod"
import { AppError, type RouteRequest } from "#core"
import { sessionCookieOf } from "#core/engine"

/** Throws `permission_denied` if the browser reports a page of another site. Commands send no origin. */
export function refuseForeignPage({ headers }: RouteRequest): void {
  const { origin, host, "sec-fetch-site": site } = headers
  const isForeign = origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host)
  if (!isForeign && (site === undefined || site === "same-origin" || site === "none")) return
  const message = `Origin: "${origin ?? site}" is not this service. Only its own pages open and end sessions.`
  throw new AppError("permission_denied", message, { reason: "origin_not_allowed" })
}

/** Reads a body of the type application/json. A form of another site cannot send this type. Throws `invalid_argument`. */
export async function bodyOf<T extends z.ZodType>(request: RouteRequest, shape: T, expected: string): Promise<z.output<T>> {
  const text = Buffer.from(await request.body()).toString("utf8")
  const parsed = /^application\/json\b/i.test(request.headers["content-type"] ?? "") ? shape.safeParse(jsonOf(text)) : undefined
  if (parsed?.success) return parsed.data
  const message = `The body is not ${expected} of the type application/json.`
  throw new AppError("invalid_argument", message, { reason: "sign_in_malformed" })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// The cookies of a browser: its session, and the nonces of its latest sign-in attempt and passkey challenge. Scripts cannot read them.

/** The session's cookie with its first letters: `__Host-` with TLS. */
export function attemptCookieOf(publicUrl: string): string {
  return sessionCookieOf(publicUrl).replace("session", "sign_in")
}

/** The cookie with the nonce of the latest challenge for a passkey. */
export function passkeyCookieOf(publicUrl: string): string {
  return sessionCookieOf(publicUrl).replace("session", "passkey")
}

/** The value of a cookie; undefined without one. */
export function cookieIn(request: RouteRequest, name: string): string | undefined {
  return parseCookie(request.headers["cookie"] ?? "")[name] || undefined
}

/** The `Set-Cookie` header of a cookie; an empty value removes it. */
export function setCookie(publicUrl: string, name: string, value: string, expires: Date): string {
  const secure = publicUrl.startsWith("https:")
  return stringifySetCookie({
    name,
    value,
    expires: value === "" ? new Date(0) : expires,
    path: "/",
    httpOnly: true,
    sameSite: "strict",
    secure,
  })
}
