// Atlassian Connect's query string hash: SHA-256 of METHOD&path&sorted query.
import { createHash } from "node:crypto"

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
