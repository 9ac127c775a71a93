// The input of an approval as people see it. Texts of mails and messages are shown in full, credentials only by their length.
import type { Json } from "#core"
import { redacted, redactSecrets } from "#core/engine"

/** A value that is not shown. */
export interface Hidden {
  /** Dotted path in the input. */
  path: string
  characters: number
}

export interface Shown {
  readonly input: Json
  readonly hidden: Hidden[]
}

/** `contents` are fields of the input, or of each run if the input is a list. */
export function shownInput(exact: Json, contents: readonly string[]): Shown {
  const input = Array.isArray(exact) ? exact.map((run) => shownFields(run, contents)) : shownFields(exact, contents)
  return { input, hidden: hiddenIn(input, exact, "") }
}

function shownFields(fields: Json, contents: readonly string[]): Json {
  const shown = redactSecrets(fields)
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return shown
  const redactedFields = shown as Record<string, Json>
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, contents.includes(name) ? value : (redactedFields[name] ?? null)]),
  )
}

function hiddenIn(shown: Json, exact: Json, path: string): Hidden[] {
  if (shown === exact) return []
  if (shown === redacted) return [{ path, characters: typeof exact === "string" ? exact.length : JSON.stringify(exact).length }]
  if (typeof shown !== "object" || shown === null || typeof exact !== "object" || exact === null) return []
  return Object.entries(shown).flatMap(([name, value]) =>
    hiddenIn(value as Json, (exact as Record<string, Json>)[name] ?? null, path === "" ? name : `${path}.${name}`),
  )
}
