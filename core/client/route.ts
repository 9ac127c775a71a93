// What the client has to know of an operation at run time, and the request that a call of it becomes.
import { ClientError } from "./error.ts"

/** What the client needs to know of an operation to call it. */
export interface ClientRoute {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** `/v1/datasets/{slug}`; what stands in braces are input fields. */
  readonly path: string
  /** Calling twice does what calling once does. */
  readonly repeatable?: true
  /** Takes an `Idempotency-Key`, and so may be sent again too. */
  readonly keyed?: true
  /** Answers a stream. */
  readonly streams?: true
  /** Answers a list page by page: the field that holds it. */
  readonly list?: string
  /** Pages are asked for by `offset`; by `cursor` otherwise. */
  readonly offset?: true
}

export type Fields = Readonly<Record<string, unknown>>

export interface ClientRequest {
  readonly method: ClientRoute["method"]
  /** Path and query. */
  readonly path: string
  readonly body: string | undefined
}

/** Throws `invalid_argument` for what cannot stand in a path: it would lead to another one. */
export function requestOf(route: ClientRoute, input: Fields): ClientRequest {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_braces, name: string) => {
    const segment = segmentOf(name, rest.get(name))
    rest.delete(name)
    return segment
  })
  if (route.method !== "GET" && route.method !== "DELETE") {
    return { method: route.method, path, body: JSON.stringify(Object.fromEntries(rest)) }
  }
  const query = new URLSearchParams()
  for (const [name, value] of rest) for (const one of Array.isArray(value) ? value : [value]) query.append(name, textOf(one))
  return { method: route.method, path: query.size > 0 ? `${path}?${query}` : path, body: undefined }
}

function segmentOf(name: string, value: unknown): string {
  const text = typeof value === "string" || typeof value === "number" ? String(value) : ""
  if (text === "") {
    throw unfit(name, `${value === undefined ? "Required" : "Must be a text that is not empty"}; it is part of the path.`)
  }
  // URLs resolve both, escaped or not: the request would go to another route.
  if (text === "." || text === "..") throw unfit(name, `"${text}" cannot stand in a path; nothing is named so.`)
  if (!text.isWellFormed()) throw unfit(name, "holds half a character (an unpaired surrogate).")
  return encodeURIComponent(text)
}

function unfit(name: string, message: string): ClientError {
  return new ClientError("invalid_argument", `"${name}": ${message}`, { reason: "invalid_fields", fields: [{ path: name, message }] })
}

function textOf(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value)
}
