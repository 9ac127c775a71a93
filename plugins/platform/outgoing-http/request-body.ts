// Encodes the body and query of a step: JSON unless the content type is a form or text.
import { AppError, type Json } from "#core"

export interface EncodedBody {
  readonly body?: string
  readonly headers: Readonly<Record<string, string>>
}

/** Adds a content type if missing. Throws `invalid_argument` for a body unfit for the content type. */
export function encodeBody(body: Json | undefined, headers: Readonly<Record<string, string>>): EncodedBody {
  if (body === undefined || body === null) return { headers }
  const contentType = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1]
  if (contentType === undefined) return { body: JSON.stringify(body), headers: { ...headers, "Content-Type": "application/json" } }
  if (/^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType)) return { body: JSON.stringify(body), headers }
  if (typeof body === "string") return { body, headers }
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(contentType)
  if (isForm && typeof body === "object" && !Array.isArray(body)) return { body: queryOf(body).toString(), headers }
  throw new AppError(
    "invalid_argument",
    `A body that is not a string cannot be sent as ${contentType.slice(0, 100)}; give a string, or send JSON.`,
    {
      reason: "body_refused",
      retryable: false,
      fields: [{ path: "body", message: "not a string" }],
    },
  )
}

/** Null and absent values are left out, lists repeat their name, objects become JSON. */
function queryOf(values: Readonly<Record<string, Json>>): URLSearchParams {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== null) query.append(name, typeof item === "object" ? JSON.stringify(item) : String(item))
    }
  }
  return query
}

/** Adds the values to the query of the URL. */
export function withQuery(url: string, values: Readonly<Record<string, Json>>): string {
  const added = queryOf(values)
  if (added.size === 0 || !URL.canParse(url)) return url
  const target = new URL(url)
  for (const [name, value] of added) target.searchParams.append(name, value)
  return target.href
}
