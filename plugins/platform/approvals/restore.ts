// The input that a person edited, with the values that were hidden from that person.
import { AppError, type Json } from "#core"
import { redacted } from "#core/engine"

/**
 * `edited` with what `exact` has where the text is as it was `shown`. Throws `invalid_argument` where a text names something
 * hidden in a place where nothing was.
 */
export function restoreRedacted(edited: Json, { shown, exact }: { readonly shown: Json; readonly exact: Json }, path = "input"): Json {
  if (typeof edited === "string") {
    if (!edited.includes(redacted)) return edited
    if (edited === shown) return exact
    const message = `is not as it was shown, and holds ${redacted}; give the whole value, or leave it as it was shown`
    throw new AppError("invalid_argument", `${path} ${message}.`, { reason: "invalid_fields", fields: [{ path, message }] })
  }
  if (typeof edited !== "object" || edited === null) return edited
  const inner = (value: Json, name: string) =>
    restoreRedacted(value, { shown: memberOf(shown, name), exact: memberOf(exact, name) }, `${path}.${name}`)
  if (Array.isArray(edited)) return edited.map((item, index) => inner(item, String(index)))
  return Object.fromEntries(Object.entries(edited).map(([name, value]) => [name, inner(value, name)]))
}

function memberOf(value: Json, name: string): Json {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return null
  return (value as Record<string, Json>)[name] ?? null
}
