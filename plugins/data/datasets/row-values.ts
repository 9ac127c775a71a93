// Validates row values, so both storage drivers return exactly the written values. Pure.
import { AppError, type Json } from "#core"

const maxLevels = 100
export const maxNameLength = 256

/** Throws `invalid_argument` with the column's name. `levels` counts nested objects and lists. */
export function checkValues(values: Readonly<Record<string, Json>>): void {
  for (const name in values) {
    if (!isSound(name)) throw refusal(name, `The column name ${quoted(name)} ${problemOfName(name)}.`)
    const value = values[name]
    if (typeof value === "boolean" || value === null) continue
    const inside = problemOfValue(value, 1)
    if (inside) throw refusal(name, `The column ${quoted(name)} ${inside}.`)
  }
}

/** Cache of valid names: a dataset's rows repeat the same few names. */
const sound = new Set<string>()
const maxSound = 10_000

/** Returns true for a valid column name. */
export function isSound(name: string): boolean {
  if (sound.has(name)) return true
  if (problemOfName(name) !== undefined) return false
  if (sound.size >= maxSound) sound.clear()
  sound.add(name)
  return true
}

/** Returns undefined for a valid name. */
export function problemOfName(name: string): string | undefined {
  if (name === "") return "is empty"
  if (name.includes(".")) return "holds a dot; write it with _"
  if (name.includes("\0")) return "holds a NUL character"
  if (name.startsWith("$")) return "starts with $"
  if (name === "__proto__") return "is reserved"
  if (name.length > maxNameLength) return `has more than ${maxNameLength} characters`
  return name.isWellFormed() ? undefined : "holds half of a surrogate pair"
}

function problemOfValue(value: Json | undefined, level: number): string | undefined {
  if (typeof value === "string") return value.isWellFormed() ? undefined : "holds text with half of a surrogate pair"
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `holds ${value}, which is not a JSON number`
  if (typeof value === "boolean" || value === null) return undefined
  if (typeof value !== "object") return `holds ${typeof value}, which is not a JSON value`
  if (level > maxLevels) return `is nested more than ${maxLevels} levels deep`
  return Array.isArray(value) ? problemOfList(value, level + 1) : problemOfObject(value, level + 1)
}

/** Checks a name inside a value. More names are valid here than for columns. */
function problemOfKey(key: string): string | undefined {
  if (key.includes("\0")) return "holds a NUL character"
  if (key === "__proto__") return "is reserved"
  return key.isWellFormed() ? undefined : "holds half of a surrogate pair"
}

function problemOfList(list: readonly Json[], level: number): string | undefined {
  for (const element of list) {
    const problem = problemOfValue(element, level)
    if (problem) return problem
  }
  return undefined
}

function problemOfObject(object: Readonly<Record<string, Json>>, level: number): string | undefined {
  for (const key in object) {
    const problem = problemOfKey(key)
    if (problem) return `holds a key that ${problem}`
    const inside = problemOfValue(object[key], level)
    if (inside) return inside
  }
  return undefined
}

function refusal(name: string, message: string): AppError {
  return new AppError("invalid_argument", message, {
    reason: "row_not_storable",
    fields: [{ path: shortened(name), message }],
    retryable: false,
  })
}

function quoted(name: string): string {
  return JSON.stringify(shortened(name))
}

function shortened(name: string): string {
  return name.length > 80 ? `${name.slice(0, 80)}…`.toWellFormed() : name.toWellFormed()
}
