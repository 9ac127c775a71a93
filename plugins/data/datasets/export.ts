// Exports rows as CSV (RFC 4180) for spreadsheets and as NDJSON for programs. Output is streamed in chunks of rows.
import type { Json } from "#core"
import { withBlanks } from "./blank-columns.ts"
import type { Row } from "./collections.ts"
import { nameOfColumn, ownFields } from "./row-query.ts"

const chunkLength = 64 * 1_024

/** Yields one JSON object per line, with stored values unchanged and `blanks` for missing columns. */
export async function* ndjson(rows: AsyncIterable<Row>, blanks: ReadonlyMap<string, "" | null>): AsyncIterable<string> {
  let chunk = ""
  for await (const { id, values, created_at, updated_at } of rows) {
    chunk += `${JSON.stringify({ id, values: withBlanks(values, blanks), created_at, updated_at })}\n`
    if (chunk.length < chunkLength) continue
    yield chunk
    chunk = ""
  }
  if (chunk) yield chunk
}

/** Excel reads a CSV file as UTF-8 if the file starts with this mark. */
export const byteOrderMark = "\uFEFF"

/** Yields a header and one line per row: ID, times, columns. `opening` precedes the header. */
export async function* csv(rows: AsyncIterable<Row>, columns: readonly string[], opening: string): AsyncIterable<string> {
  const header = [...ownFields, ...columns.map(nameOfColumn)]
  let chunk = `${opening}${header.map((name) => cell(name)).join(",")}\r\n`
  for await (const { id, values, created_at, updated_at } of rows) {
    const cells = columns.map((name) => cell(Object.hasOwn(values, name) ? values[name] : undefined))
    chunk += `${[id, created_at, updated_at, ...cells].join(",")}\r\n`
    if (chunk.length < chunkLength) continue
    yield chunk
    chunk = ""
  }
  if (chunk) yield chunk
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: spreadsheets skip them.
const skipped = /^[\u0000-\u0020;]+/

/**
 * Prefixes text with ' if a spreadsheet would run it as a formula. Phone numbers and negative numbers stay unchanged.
 * Spreadsheets skip control characters, and in many countries read an unquoted semicolon as the end of a cell.
 */
function cell(value: Json | undefined): string {
  if (value === undefined || value === null) return ""
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  const text = typeof value === "string" ? value : JSON.stringify(value)
  const begins = text.replace(skipped, "")
  const formula = /^[\t\r]/.test(text) || /^[=@]/.test(begins) || (/^[+-]/.test(begins) && !/^[+-][\d\s().,/-]*$/.test(begins))
  const safe = formula ? `'${text}` : text
  return /[",;\t\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe
}
