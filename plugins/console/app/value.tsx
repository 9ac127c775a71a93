// Formats API values for people: one cell, or all fields of a resource. Values render as text, never as markup.
import type { ComponentChildren } from "preact"
import { type Row, words } from "./api.ts"
import { escapeBidi, UntrustedText } from "./foreign.tsx"
import { Badge, Facts, formatBytes, formatDuration, formatNumber, Time, type Tone } from "./show.tsx"
import { Table } from "./table.tsx"

/** Formats a value as one line for a cell. */
export function brief(value: unknown): string {
  if (value === null || value === undefined) return ""
  if (typeof value === "object")
    return Array.isArray(value) && value.every((item) => typeof item !== "object")
      ? escapeBidi(value.join(", "))
      : visible(JSON.stringify(value))
  return escapeBidi(String(value))
}

/** Returns a field or a nested field: `actor.surface`. */
export function at(row: Row, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => (value as Row | null | undefined)?.[name], row)
}

const units = [
  ["_millicents", " (millicents)"],
  ["_ms", ""],
  ["_at", ""],
] as const

/** `updated_at` becomes `updated`. A path becomes its last two names. */
export function titleOf(path: string): string {
  const name = path
    .split(".")
    .filter((part) => !/^\d+$/.test(part))
    .slice(-2)
    .join(" ")
  const unit = units.find(([end]) => name.endsWith(end) && name.length > end.length)
  return escapeBidi(words(unit ? name.slice(0, -unit[0].length) + unit[1] : name))
}

const isTime = (value: unknown): value is string => typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(value)
export const isNumeric = (value: unknown): boolean => typeof value === "number"
const isObject = (value: unknown): value is Row => typeof value === "object" && value !== null && !Array.isArray(value)
export const isEmpty = (value: unknown) =>
  value === null || value === undefined || value === "" || (typeof value === "object" && Object.keys(value).length === 0)
export const isRows = (value: unknown): value is readonly Row[] => Array.isArray(value) && value.length > 0 && value.every(isObject)

const stateful = /(?:^|_)(?:status|state|verdict|outcome)$/
const toned: Readonly<Record<Exclude<Tone, "plain">, readonly string[]>> = {
  good: "active succeeded done ready verified published connected accepted authorized adopted completed passed pass delivered executed".split(
    " ",
  ),
  bad: "failed dead rejected revoked error broken fail bounced unreachable".split(" "),
  warning: "pending waiting paused proposed blocked expired degraded unknown interrupted".split(" "),
}
const toneOf = (value: string): Tone => (["good", "bad", "warning"] as const).find((tone) => toned[tone].includes(value)) ?? "plain"

interface FieldValueArgs {
  readonly name: string
  readonly value: unknown
  /** One line, for a cell. */
  readonly isBrief?: boolean
}

/** One value, formatted by field name and type. */
export function FieldValue({ name, value, isBrief = false }: FieldValueArgs): ComponentChildren {
  if (isEmpty(value)) return ""
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (typeof value === "number") return numberOf(name, value)
  if (isTime(value)) return <Time value={value} />
  if (typeof value === "string" && stateful.test(name)) return <Badge tone={toneOf(value)}>{words(value)}</Badge>
  if (isBrief) return <Brief value={value} />
  if (typeof value === "string")
    return /\n/.test(value) || name.endsWith("_js") ? <pre>{escapeBidi(value)}</pre> : <UntrustedText text={value} />
  if (isRows(value)) return <Nested name={name} rows={value} />
  if (isObject(value) && Object.values(value).every((item) => !isObject(item) && !isRows(item))) return <Fields row={value} />
  return Array.isArray(value) && value.every((item) => typeof item !== "object") ? (
    <UntrustedText text={value.join(", ")} />
  ) : (
    <Value value={value} />
  )
}

function numberOf(name: string, value: number): string {
  if (name.endsWith("_ms")) return formatDuration(value)
  return /(?:^|_)(?:bytes|size)$/.test(name) ? formatBytes(value) : formatNumber(value)
}

const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/
const maxBrief = 160

/** One line: the end of an id, or an object's fields by name. */
function Brief({ value }: { readonly value: unknown }) {
  if (typeof value === "string" && uuid.test(value))
    return (
      <code class="unbroken" title={value}>
        …{value.slice(-8)}
      </code>
    )
  if (!isObject(value)) return <UntrustedText text={cut(brief(value))} />
  const fields = Object.entries(value).filter(([, content]) => !isEmpty(content))
  const [[name, single] = ["", ""]] = fields
  return fields.length === 1 && typeof single !== "object" ? (
    <>
      {titleOf(name)} <Brief value={single} />
    </>
  ) : (
    <UntrustedText
      text={cut(
        fields.map(([field, content]) => (typeof content === "object" ? words(field) : `${words(field)}: ${brief(content)}`)).join(", "),
      )}
    />
  )
}

const cut = (text: string) => (text.length > maxBrief ? `${text.slice(0, maxBrief)}…` : text)

/** The exact full value. Values other than text are JSON. */
export function Value({ value }: { readonly value: unknown }) {
  if (isTime(value)) return <Time value={value} />
  if (typeof value === "object" && value !== null) return <pre>{visible(JSON.stringify(value, null, 2))}</pre>
  if (typeof value === "string" && value.includes("\n")) return <pre>{escapeBidi(value)}</pre>
  return <>{brief(value)}</>
}

/** Important fields for people come first, technical fields last. */
const ranks: readonly RegExp[] = [
  /^(?:title|name)$/,
  /^(?:slug|key|subject|address)$/,
  stateful,
  /^(?:(?!_at$|id$|^revision$).)*$/,
  /_at$/,
  /^(?:\w+_)?id$|^revision$/,
]
const rankOf = (name: string) => ranks.findIndex((rank) => rank.test(name))
export const sortByRank = (names: readonly string[]) => [...names].sort((a, b) => rankOf(a) - rankOf(b))

const maxColumns = 7

/**
 * Returns the declared columns with a value in some row. Leaves out ids of linked rows. Without declared columns, the best
 * columns by rank.
 */
export function columnsFor(rows: readonly Row[], columnNames: readonly string[], opens = false): readonly string[] {
  const filledColumns = columnNames.filter(
    (path, index) => index === 0 || rows.some((row) => !isEmpty(at(row, path.split(" as ")[0] ?? ""))),
  )
  const useful = filledColumns.filter((path) => !(opens && path === "id" && filledColumns.length > 1))
  if (columnNames.length > 0) return useful
  const plain = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (name) =>
      rankOf(name) < ranks.length - 1 &&
      rows.some((row) => !isEmpty(row[name])) &&
      rows.every((row) => !isObject(row[name]) && !isRows(row[name])),
  )
  return sortByRank(plain.length > 0 ? plain : Object.keys(rows[0] ?? {})).slice(0, maxColumns)
}

function Nested({ name, rows }: { readonly name: string; readonly rows: readonly Row[] }) {
  const columns = columnsFor(rows, []).map((field) => ({
    name: field,
    title: titleOf(field),
    isNumber: rows.every((row) => isNumeric(row[field])),
    show: (row: Row) => <FieldValue name={field} value={row[field]} isBrief />,
  }))
  return <Table label={words(name)} rows={rows} columns={columns} keyOf={(_row, index) => String(index)} />
}

/** All fields of a resource. Empty fields share one line. Fields in `first` come first; the others fold. */
export function Fields({ row, first }: { readonly row: Row; readonly first?: readonly string[] | undefined }) {
  const names = Object.keys(row)
  const filledNames = names.filter((name) => !isEmpty(row[name]))
  const empty = names.filter((name) => isEmpty(row[name]))
  const fact = (name: string) =>
    [titleOf(name), <FieldValue key={name} name={name.split(".").at(-1) ?? name} value={at(row, name)} />] as const
  const top = first?.filter((name) => !isEmpty(at(row, name)))
  const remainder = (
    <>
      <Facts of={filledNames.filter((name) => !top?.includes(name)).map(fact)} />
      {empty.length > 0 && <p class="about">Empty: {empty.map(titleOf).join(", ")}.</p>}
    </>
  )
  if (!top) return remainder
  return (
    <>
      <Facts of={top.map(fact)} />
      <details>
        <summary>All fields</summary>
        {remainder}
      </details>
    </>
  )
}

// Untrusted text with visible control characters. Marks for direction or hiding are shown by their codes.

const hiding = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const layout = new Set(["\n", "\t", "\r"])

/** Uses JSON escapes, so JSON text remains valid. */
export function visible(text: string): string {
  return text.replace(hiding, (sign) => (layout.has(sign) ? sign : escapeSign(sign)))
}

function escapeSign(sign: string): string {
  return Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")
}
