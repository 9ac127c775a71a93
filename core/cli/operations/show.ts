// Responses for people: a list as a table with the terminal's width, other values as YAML.
import { stringify } from "yaml"
import { harmless } from "../../kernel/terminal.ts"

const maxCell = 60
const gap = "  "

export function recordText(answer: unknown): string {
  return harmless(typeof answer === "object" && answer !== null ? stringify(answer, { lineWidth: 0 }).trimEnd() : String(answer))
}

/**
 * Formats one line for each item under a line of names. `first`: preferred columns. Columns beyond the width are left out and
 * named below.
 */
export function tableText(items: readonly unknown[], width: number, first: readonly string[] = []): string {
  if (items.length === 0) return "(none)"
  const rows = items.map((item) => cellsOf(item))
  const found = [...new Set(rows.flatMap((row) => [...row.keys()]))].filter((name) => rows.some((row) => row.get(name)))
  const names = [...first.filter((name) => found.includes(name)), ...slugFirst(found.filter((name) => !first.includes(name)))]
  const columns = names.map((name) => {
    const cells = [name.toUpperCase(), ...rows.map((row) => row.get(name) ?? "")]
    return { name, cells, width: Math.max(...cells.map((cell) => cell.length)) }
  })
  const shown = fitting(columns, width)
  const lines = Array.from({ length: rows.length + 1 }, (_, line) =>
    shown
      .map(({ cells, width: size }) => (cells[line] ?? "").padEnd(size))
      .join(gap)
      .trimEnd(),
  )
  const left = columns.slice(shown.length).map(({ name }) => name)
  return [...lines, ...(left.length > 0 ? [`Also: ${left.join(", ")} (--json shows them)`] : [])].join("\n")
}

/** With a slug, the id is unimportant for people and comes last. */
function slugFirst(names: readonly string[]): string[] {
  return names.includes("slug") ? [...names.filter((name) => name !== "id"), ...names.filter((name) => name === "id")] : [...names]
}

function fitting<C extends { width: number }>(columns: readonly C[], width: number): C[] {
  let used = 0
  const shown: C[] = []
  for (const column of columns) {
    used += column.width + (shown.length > 0 ? gap.length : 0)
    if (used > width && shown.length > 0) break
    shown.push(column)
  }
  return shown
}

/** Returns scalars by name and nested scalars by dotted name. Larger values are shown only with --json. */
function cellsOf(item: unknown): Map<string, string> {
  const cells = new Map<string, string>()
  if (typeof item !== "object" || item === null || Array.isArray(item)) return cells.set("value", cellOf(item) ?? JSON.stringify(item))
  for (const [name, value] of Object.entries(item)) {
    const cell = cellOf(value)
    if (cell !== undefined) cells.set(name, cell)
    else if (typeof value === "object" && !Array.isArray(value)) {
      for (const [inner, one] of Object.entries(value as object)) cells.set(`${name}.${inner}`, cellOf(one) ?? "")
    }
  }
  return cells
}

function cellOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return ""
  if (Array.isArray(value)) return value.every((one) => typeof one !== "object") ? shortened(value.join(", ")) : undefined
  return typeof value === "object" ? undefined : shortened(String(value))
}

function shortened(text: string): string {
  const line = harmless(text.replaceAll(/\s*\n\s*/g, " ↵ "))
  return line.length > maxCell ? `${line.slice(0, maxCell - 1)}…` : line
}
