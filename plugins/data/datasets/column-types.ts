// Infers the type of a column from its values. Pure.
import type { Json } from "#core"

export const columnTypes = ["string", "number", "boolean", "date-time", "json"] as const
export type ColumnType = (typeof columnTypes)[number]

export interface ColumnSeen {
  readonly name: string
  readonly type: ColumnType
}

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** Returns undefined for null, because null has no column type. */
export function typeOfValue(value: Json | undefined): ColumnType | undefined {
  switch (typeof value) {
    case "string":
      return value.length >= 20 && value.charCodeAt(10) === 84 && dateTime.test(value) ? "date-time" : "string"
    case "number":
      return "number"
    case "boolean":
      return "boolean"
    case "object":
      return value === null ? undefined : "json"
    default:
      return undefined
  }
}

/** Returns one entry per column. The type is `json` for mixed types. Text among times counts as text, without a warning. */
export function columnsOf(observed: readonly ColumnSeen[]): { columns: ColumnSeen[]; warnings: string[] } {
  const byName = new Map<string, Set<ColumnType>>()
  for (const { name, type } of observed) byName.set(name, (byName.get(name) ?? new Set()).add(type))
  const warnings: string[] = []
  const columns = [...byName].map(([name, types]) => {
    if (types.has("string")) types.delete("date-time")
    const [only] = types
    if (types.size === 1 && only) return { name, type: only }
    warnings.push(`The column "${name}" holds mixed types: ${[...types].sort().join(", ")}.`)
    return { name, type: "json" as const }
  })
  return { columns, warnings }
}
