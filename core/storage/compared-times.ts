// Converts RFC 3339 times in filters to the stored form of times. Drivers that compare text and drivers that compare dates then
// find the same documents.
import type { CollectionSpec } from "../contract/collection.ts"
import type { Filter } from "../contract/store.ts"
import { AppError } from "../kernel/errors.ts"
import { isConditions } from "./filter.ts"

/** Returns the filter with stored forms of times. Throws `invalid_argument` for an invalid time. */
export function withStoredTimes(spec: CollectionSpec, filter: Filter): Filter {
  const paths = spec.expires ? [...spec.times, spec.expires] : spec.times
  return paths.length === 0 ? filter : translated(filter, new Set(paths))
}

function translated(filter: Filter, times: ReadonlySet<string>): Filter {
  let changed: Filter | undefined
  for (const [path, condition] of Object.entries(filter)) {
    const made = translatedAt(path, condition, times)
    if (made === condition) continue
    changed ??= { ...filter }
    changed[path] = made as Filter[string]
  }
  return changed ?? filter
}

function translatedAt(path: string, condition: unknown, times: ReadonlySet<string>): unknown {
  if (path === "$and" || path === "$or") {
    const parts = condition as readonly Filter[]
    const made = parts.map((part) => translated(part, times))
    return made.some((part, index) => part !== parts[index]) ? made : parts
  }
  // Declared paths omit positions in lists.
  if (!times.has(path.replace(/\.\d+(?=\.|$)/g, ""))) return condition
  return stored(path, condition)
}

function stored(path: string, operand: unknown): unknown {
  if (typeof operand === "string") return storedTime(operand, path)
  if (Array.isArray(operand)) return operand.map((each) => stored(path, each))
  if (!isConditions(operand)) return operand
  return Object.fromEntries(Object.entries(operand).map(([operator, value]) => [operator, stored(path, value)]))
}

function storedTime(text: string, path: string): string {
  const date = new Date(/^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d|$)/.test(text) ? text : Number.NaN)
  if (!Number.isNaN(date.getTime())) return date.toISOString()
  const message = "must be compared with an RFC 3339 time, such as 2026-01-31T12:00:00.000Z"
  throw new AppError("invalid_argument", `${path} ${message} (given: ${JSON.stringify(text)}).`, {
    reason: "invalid_fields",
    fields: [{ path, message }],
  })
}
