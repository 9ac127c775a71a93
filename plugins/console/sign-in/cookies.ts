// The cookies of a browser: its session, and the nonces of its latest sign-in attempt and passkey challenge. Scripts cannot read them.
import { parseCookie, stringifySetCookie } from "cookie"
import type { RouteRequest } from "#core"
import { sessionCookieOf } from "#core/engine"

/** The session's cookie with its first letters: `__Host-` with TLS. */
export function attemptCookieOf(publicUrl: string): string {
  return sessionCookieOf(publicUrl).replace("session", "sign_in")
}

/** Holds the nonce of the latest challenge for a passkey. */
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
