// Reads the query and headers of a request as plain records, with or without the proof.
import type { InboundRequest } from "../../contract/auth-mode.ts"
import { isRecord } from "../../kernel/json.ts"

type Query = Record<string, string | string[]>

/** Headers without a use for pipelines. They concern the connection, or are useful to an attacker. */
const hiddenHeaders = new Set([
  "authorization",
  "cookie",
  "proxy-authorization",
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
])

/** Returns headers as text with joined lists. Leaves out credentials and headers of the proof. */
export function shownHeaders(headers: InboundRequest["headers"], proof: readonly string[] = []): Record<string, string> {
  const out: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || hiddenHeaders.has(name) || proof.some((each) => each.toLowerCase() === name)) continue
    out[name] = typeof value === "string" ? value : value.join(", ")
  }
  return out
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

/** Returns the record without the named entries. Returns the same object if there are no names. */
export function withoutProof<T extends Record<string, unknown>>(record: T, names: readonly string[] | undefined): T {
  if (!names || names.length === 0) return record
  const out = { ...record }
  for (const name of names) delete out[name.toLowerCase() in out ? name.toLowerCase() : name]
  return out
}

/** Headers whose values are not credentials in any auth mode. */
const plainHeaders = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "user-agent",
  "host",
  "accept",
  "accept-language",
  "origin",
  "date",
])

/** Describes a request that was refused unread: header names, safe header values and the size. */
export function headersAndSize(headers: InboundRequest["headers"], size: number | undefined): string {
  const shown: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    shown[name] = plainHeaders.has(name) ? String(value) : "[not shown]"
  }
  return JSON.stringify({ headers: shown, size: size ?? null })
}

/** Returns JSON text without the fields at the dotted paths, or undefined if it is not JSON. Long integers keep their digits. */
export function withoutFields(text: string, paths: readonly string[]): string | undefined {
  try {
    const body = JSON.parse(text, exactNumbers) as unknown
    for (const path of paths) remove(body, path)
    return JSON.stringify(body)
  } catch {
    return undefined
  }
}

function exactNumbers(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value
  return context?.source === undefined ? value : rawJson(context.source)
}

/** The runtime has `rawJSON`, but TypeScript's declarations do not yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (text: string) => unknown }

function remove(body: unknown, path: string): void {
  if (!isRecord(body)) return
  if (Object.hasOwn(body, path)) {
    delete body[path]
    return
  }
  const names = path.split(".")
  const last = names.pop() ?? ""
  let at: unknown = body
  // A path segment into a list is an index.
  for (const name of names)
    at = typeof at === "object" && at !== null && Object.hasOwn(at, name) ? (at as Record<string, unknown>)[name] : undefined
  if (isRecord(at)) delete at[last]
}
