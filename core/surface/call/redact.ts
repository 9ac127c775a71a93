// Cuts secrets out of values that are kept: by field name and within URLs for what goes to the audit record, by path for answers.
import type { Json } from "../../contract/collection.ts"
import { isSecretName, redacted } from "../../kernel/secret-names.ts"

const address = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>`]+/gi
/** Secret in a query only: everywhere else these are words for something harmless. */
const secretInQuery = /^(?:key|sig|auth|pass|code)$/i

/** Without secrets: the values of fields named like one or in `alsoSecret`, and those in URLs. */
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

/** Also of a dotted path, as updates have them, any step of which is secret. What is on, off or absent tells nothing. */
function hidesField(secret: ReadonlySet<string>, name: string, value: unknown): boolean {
  if (typeof value === "boolean" || value === null) return false
  if (name.toLowerCase() === "auth" && typeof value === "string") return true
  return name.split(".").some((step) => secret.has(step.toLowerCase()) || isSecretName(step))
}

/** `https://user:word@host/?token=x` without user, word and the token. */
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
