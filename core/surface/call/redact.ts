// Removes secrets from stored values. Audit values are cut by field name and within URLs, responses by path.
import type { Json } from "../../contract/collection.ts"
import { isSecretName, redacted } from "../../kernel/secret-names.ts"

const address = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>`]+/gi
/** Secret only in a query. In other places these words are harmless. */
const secretInQuery = /^(?:key|sig|auth|pass|code)$/i

/** Removes the values of secret fields, of fields in `alsoSecret`, and secrets in URLs. */
export function withoutSecrets(value: unknown, alsoSecret: readonly string[] = []): Json {
  return cut(value, new Set(alsoSecret.map((name) => name.toLowerCase())), 0)
}

function cut(value: unknown, secret: ReadonlySet<string>, depth: number): Json {
  if (typeof value === "string") return cutAddresses(value)
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value
  if (typeof value !== "object") return null
  if (depth > 20) return "…"
  if (Array.isArray(value)) return value.map((item) => cut(item, secret, depth + 1))
  const named = "name" in value && typeof value.name === "string" && isSecretName(value.name)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => {
        const hides = hidesField(secret, name, inner) || (named && name === "value")
        return [name, hides ? redacted : cut(inner, secret, depth + 1)]
      }),
  )
}

/** Returns true if any step of a dotted path (as in updates) is secret. Booleans and nulls contain no secret. */
function hidesField(secret: ReadonlySet<string>, name: string, value: unknown): boolean {
  if (typeof value === "boolean" || value === null) return false
  if (name.toLowerCase() === "auth" && typeof value === "string") return true
  return name.split(".").some((step) => secret.has(step.toLowerCase()) || isSecretName(step))
}

/** `https://user:word@host/?token=x` without user, password and token. */
function cutAddresses(text: string): string {
  if (!text.includes("://")) return text
  return text.replace(address, (url) =>
    url
      .replace(/^([^:]+:\/\/)[^/?#]*@/, `$1${redacted}@`)
      .replace(/([?&;#])([^=&;#?]+)=([^&;#]+)/g, (all, mark: string, name: string) =>
        secretInQuery.test(plain(name)) || isSecretName(plain(name)) ? `${mark}${name}=${redacted}` : all,
      ),
  )
}

function plain(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Copies the response without the fields at these dotted paths. Also returns the paths of the removed fields. */
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
