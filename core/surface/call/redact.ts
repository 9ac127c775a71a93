// Cuts secrets out of values that are kept: by field name for what goes to the audit record, by path for answers.
import type { Json } from "../../contract/collection.ts"
import { secretNames } from "../../kernel/log.ts"

const maxText = 500
const maxLength = 4_000
const redacted = "[redacted]"

/** A value as the audit shows it: secrets by name cut, long texts shortened, and only the field names of what is larger still. */
export function summary(value: Readonly<Record<string, unknown>>, alsoSecret: readonly string[] = []): Json {
  const secret = new Set<string>([...secretNames, ...alsoSecret].map(normal))
  const short = cut(value, secret, 0)
  if (JSON.stringify(short).length <= maxLength) return short
  return { truncated: true, fields: Object.keys(value) }
}

function cut(value: unknown, secret: ReadonlySet<string>, depth: number): Json {
  if (typeof value === "string") return value.length > maxText ? `${value.slice(0, maxText)}… (${value.length} characters)` : value
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value
  if (typeof value !== "object") return null
  if (depth > 20) return "…"
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => cut(item, secret, depth + 1))
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => [name, isSecret(secret, name) ? redacted : cut(inner, secret, depth + 1)]),
  )
}

/** Also a dotted path, as updates have them, any step of which is secret. */
function isSecret(secret: ReadonlySet<string>, name: string): boolean {
  return name.split(".").some((step) => secret.has(normal(step)))
}

function normal(name: string): string {
  return name.toLowerCase().replaceAll("-", "_")
}

/** A copy of the answer without the fields at these dotted paths, and which of them were there. */
export function without(answer: Json, paths: readonly string[]): { rest: Json; omitted: string[] } {
  const rest = structuredClone(answer)
  return { rest, omitted: paths.filter((path) => remove(rest, path.split("."))) }
}

function remove(value: Json, [name, ...further]: string[]): boolean {
  if (name === undefined || typeof value !== "object" || value === null) return false
  if (Array.isArray(value)) return value.map((item) => remove(item, [name, ...further])).some(Boolean)
  const inner = value[name]
  if (inner === undefined || inner === null) return false
  if (further.length > 0) return remove(inner, further)
  delete value[name]
  return true
}
