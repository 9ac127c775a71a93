// Checks the claims of a verified token against its request.
import { createHash } from "node:crypto"
import { sameBytes } from "#core"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"
import type { JwtScheme } from "./scheme.ts"

export type Claims = Readonly<Record<string, unknown>>

/** Throws Refused. Times are in seconds. The leeway applies to each time. */
export function checkClaims(scheme: JwtScheme, claims: Claims, view: RequestView, configured_s: number | undefined): void {
  if (scheme.issuer !== undefined && claims["iss"] !== scheme.issuer) throw claim("iss", `is not "${scheme.issuer}"`)
  checkTimes(scheme, claims, view.request.receivedAt / 1_000, configured_s ?? scheme.tolerance_s)
  if (scheme.audienceIsUrl && !audienceNames(claims["aud"], view.request.url)) {
    throw new Refused(
      "url_mismatch",
      `The token is for another address than ${view.request.url}: set MILLRACE_PUBLIC_URL to what is registered at the provider.`,
    )
  }
  if (scheme.urlHash !== undefined && !isDigest(claims[scheme.urlHash], view.request.url)) {
    throw new Refused(
      "url_mismatch",
      `The token's ${scheme.urlHash} is not the hash of ${view.request.url}: set MILLRACE_PUBLIC_URL to what is registered at the provider.`,
    )
  }
  if (scheme.requestHash !== undefined) checkRequestHash(claims, view)
  if (scheme.bodyHash !== undefined) checkBodyHash(scheme.bodyHash, claims, view)
}

function checkTimes(scheme: JwtScheme, claims: Claims, now_s: number, leeway_s: number | undefined): void {
  const at = (name: string) => (typeof claims[name] === "number" ? claims[name] : undefined)
  const [expires, notBefore, issued] = [at("exp"), at("nbf"), at("iat")]
  if (scheme.needsExpiry && expires === undefined) throw claim("exp", "is absent")
  const leeway = leeway_s ?? 60
  if (expires !== undefined && now_s > expires + (scheme.needsExpiry ? 60 : leeway)) {
    throw new Refused("expired_token", `The token's signature is right, but it expired ${Math.round(now_s - expires)} s ago.`)
  }
  if (notBefore !== undefined && now_s < notBefore - leeway) throw new Refused("timestamp_in_future", "The token is not valid yet (nbf).")
  if (leeway_s === undefined) return
  if (issued === undefined) {
    if (!scheme.needsExpiry) throw new Refused("timestamp_missing", "The token's iat is absent.")
    return
  }
  if (now_s > issued + leeway && !scheme.needsExpiry) {
    throw new Refused(
      "timestamp_too_old",
      `The token's signature is right, but it was made ${Math.round(now_s - issued)} s ago; the window is ${leeway} s.`,
    )
  }
  if (now_s < issued - leeway)
    throw new Refused("timestamp_in_future", `The token is dated ${Math.round(issued - now_s)} s ahead; the window is ${leeway} s.`)
}

function audienceNames(audience: unknown, url: string): boolean {
  const list: unknown[] = Array.isArray(audience) ? audience : [audience]
  return list.includes(url)
}

function checkRequestHash(claims: Claims, view: RequestView): void {
  const hash = claims["qsh"]
  if (hash === "context-qsh") throw new Refused("wrong_audience", "The token is a context token (context-qsh): it is bound to no request.")
  if (typeof hash !== "string" || !sameBytes(hash, requestHash(view.request.method, view.request.url))) {
    throw new Refused("url_mismatch", "The token's qsh is not the hash of this method, path and query.")
  }
}

function checkBodyHash(name: string, claims: Claims, view: RequestView): void {
  if (claims[name] === undefined && view.request.body.length === 0) return
  if (isDigest(claims[name], view.request.body)) return
  throw claims[name] === undefined
    ? claim(name, "is absent, so the body is not covered")
    : new Refused("body_modified", `The token's signature is right, but ${name} is not the hash of this body: it was changed in transit.`)
}

function isDigest(claimed: unknown, content: Buffer | string): boolean {
  return typeof claimed === "string" && sameBytes(claimed, createHash("sha256").update(content).digest("hex"))
}

function claim(name: string, problem: string): Refused {
  return new Refused("wrong_claim", `The token's claim ${name} ${problem}.`)
}

// Atlassian Connect's query string hash: SHA-256 of METHOD&path&sorted query.

export function requestHash(method: string, url: string): string {
  const { pathname, search } = new URL(url)
  const path = pathname.length > 1 ? pathname.replace(/\/$/, "") : pathname
  const values = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(search)) {
    if (name === "jwt") continue
    values.set(name, [...(values.get(name) ?? []), value])
  }
  const query = [...values]
    .map(([name, list]) => [encode(name), list.map(encode).sort().join(",")] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, list]) => `${name}=${list}`)
    .join("&")
  return createHash("sha256")
    .update(`${method.toUpperCase()}&${path.replaceAll("&", "%26")}&${query}`)
    .digest("hex")
}

/** Percent-encoding of RFC 3986. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
