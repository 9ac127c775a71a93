// The input of an approval as people see it. Texts of mails and messages are shown in full, credentials only by their length.
import type { Json } from "#core"
import { redacted, redactSecrets } from "#core/engine"

/** A value that is not shown. */
export interface Hidden {
  /** Dotted path in the input. */
  path: string
  characters: number
}

export interface RedactedInput {
  readonly input: Json
  readonly hidden: Hidden[]
}

/** `contents` are fields of the input, or of each run if the input is a list. */
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
