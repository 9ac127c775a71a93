// The client's runtime data about an operation, and the request of a call.
import { ClientError } from "./error.ts"

/** The client's runtime data about an operation. */
export interface ClientRoute {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** `/v1/datasets/{slug}`. Braces contain input fields. */
  readonly path: string
  /** True if a second call has no further effect. */
  readonly repeatable?: true
  /** True if the operation accepts an `Idempotency-Key`. The call can then be repeated too. */
  readonly keyed?: true
  /** True if the answer is a stream. */
  readonly streams?: true
  /** Of a paged list: the field with the list. */
  readonly list?: string
  /** True if pages use `offset`. Otherwise they use `cursor`. */
  readonly offset?: true
}

export type Fields = Readonly<Record<string, unknown>>

export interface ClientRequest {
  readonly method: ClientRoute["method"]
  /** Path and query. */
  readonly path: string
  readonly body: string | undefined
}

/** Throws `invalid_argument` for a value that is invalid in a path, since it would select another route. */
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
  // URLs resolve both, escaped or not. The request would reach another route.
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
