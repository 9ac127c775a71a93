// The input of an approval for display. Texts of mails and messages are shown in full, credentials only by length.
import { AppError, type Json } from "#core"
import { redacted, redactSecrets } from "#core/engine"

/** A redacted value. */
export interface Hidden {
  /** Dotted path in the input. */
  path: string
  characters: number
}

export interface RedactedInput {
  readonly input: Json
  readonly hidden: Hidden[]
}

/** `contents`: fields of the input. If the input is a list, fields of each run. */
export function redactInput(exact: Json, contents: readonly string[]): RedactedInput {
  const input = Array.isArray(exact) ? exact.map((run) => redactContents(run, contents)) : redactContents(exact, contents)
  return { input, hidden: hiddenIn(input, exact, "") }
}

function redactContents(fields: Json, contents: readonly string[]): Json {
  const visible = redactSecrets(fields)
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return visible
  const redactedFields = visible as Record<string, Json>
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, contents.includes(name) ? value : (redactedFields[name] ?? null)]),
  )
}

function hiddenIn(visible: Json, exact: Json, path: string): Hidden[] {
  if (visible === exact) return []
  if (visible === redacted) return [{ path, characters: typeof exact === "string" ? exact.length : JSON.stringify(exact).length }]
  if (typeof visible !== "object" || visible === null || typeof exact !== "object" || exact === null) return []
  return Object.entries(visible).flatMap(([name, value]) =>
    hiddenIn(value as Json, (exact as Record<string, Json>)[name] ?? null, path === "" ? name : `${path}.${name}`),
  )
}

/**
 * Returns `edited` with the exact values in place of unchanged redacted texts. Throws `invalid_argument` if another text contains
 * the redaction mark.
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
