// Renames fields with invalid column names from forms and webhooks: `1.3` becomes `1_3`. Pure.
import type { Json } from "#core"
import { isSound, maxNameLength, problemOfName } from "./row-values.ts"

export interface RenamedField {
  readonly name: string
  readonly column: string
  /** Completes the sentence "the name …". */
  readonly problem: string
}

export interface RowOfFields {
  readonly values: Readonly<Record<string, Json>>
  readonly renamed: readonly RenamedField[]
}

/** Returns the fields, in a copy if a name is invalid. Every value remains: a new name differs from all of `fields` and `reserved`. */
export function asColumns(fields: Readonly<Record<string, Json>>, reserved: ReadonlySet<string>): RowOfFields {
  if (areSound(fields)) return { values: fields, renamed: unchanged }
  const values: Record<string, Json> = {}
  const renamed: RenamedField[] = []
  const isTaken = (column: string) => Object.hasOwn(fields, column) || Object.hasOwn(values, column) || reserved.has(column)
  for (const [name, value] of Object.entries(fields)) {
    const problem = problemOfName(name)
    const column = problem === undefined ? name : freeColumn(columnOf(name), isTaken)
    values[column] = value
    if (problem !== undefined) renamed.push({ name, column, problem })
  }
  return { values, renamed }
}

const unchanged: readonly RenamedField[] = []

function areSound(fields: Readonly<Record<string, Json>>): boolean {
  for (const name in fields) if (!isSound(name)) return false
  return true
}

/** Returns the column name for a field, without regard to other fields. */
export function columnOf(name: string): string {
  if (name === "__proto__") return "___proto__"
  const storable = name.toWellFormed().replaceAll(/[.\0\uFFFD]|^\$/g, "_")
  return storable === "" ? "_" : storable.slice(0, maxNameLength).toWellFormed().replaceAll("\uFFFD", "_")
}

/** Appends `_2`, `_3` and so on, until the column is free. */
function freeColumn(column: string, isTaken: (column: string) => boolean): string {
  if (!isTaken(column)) return column
  for (let n = 2; ; n++) {
    const suffix = `_${n}`
    const next =
      column
        .slice(0, maxNameLength - suffix.length)
        .toWellFormed()
        .replaceAll("\uFFFD", "_") + suffix
    if (!isTaken(next)) return next
  }
}
