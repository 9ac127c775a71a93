// Reading a request: its query and headers as plain records, with and without what was only there as proof.
import type { InboundRequest } from "../../contract/auth-mode.ts"

type Query = Record<string, string | string[]>

/** Headers that say nothing to a pipeline and only something to an attacker, or to the connection. */
const hiddenHeaders = new Set([
  "authorization",
  "cookie",
  "proxy-authorization",
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
])

/** Headers as text, lists joined; never credentials. */
export function shownHeaders(headers: InboundRequest["headers"]): Record<string, string> {
  const out: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || hiddenHeaders.has(name)) continue
    out[name] = typeof value === "string" ? value : value.join(", ")
  }
  return out
}

export function queryOf(request: InboundRequest): Query {
  return request.query as Query
}

const none: Query = Object.freeze({}) as Query

/** A repeated parameter becomes a list. */
export function parseQuery(text: string): Query {
  if (text === "") return none
  const out = Object.create(null) as Query
  for (const [name, value] of new URLSearchParams(text)) {
    const earlier = out[name]
    if (earlier === undefined) out[name] = value
    else if (Array.isArray(earlier)) earlier.push(value)
    else out[name] = [earlier, value]
  }
  return out
}

/** The record less the named entries; the same object when there is nothing to take out. */
export function withoutProof<T extends Record<string, unknown>>(record: T, names: readonly string[] | undefined): T {
  if (!names || names.length === 0) return record
  const out = { ...record }
  for (const name of names) delete out[name.toLowerCase() in out ? name.toLowerCase() : name]
  return out
}
