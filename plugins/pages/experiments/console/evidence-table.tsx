// A table of the report in the console, with the columns of the exported page.
import { type Column as ConsoleColumn, Table } from "#console"
import type { Column } from "../report/columns.ts"

interface EvidenceTableArgs<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  /** Columns that only the console has. */
  readonly more?: readonly ConsoleColumn<T>[]
}

export function EvidenceTable<T>({ label, columns, rows, more = [] }: EvidenceTableArgs<T>) {
  const shared = columns.map(({ title, text, isKey, isNumber = false }) => ({
    name: title.toLowerCase(),
    isNumber,
    show: (row: T) => (isKey ? <code>{text(row)}</code> : text(row)),
  }))
  const keys = columns.filter(({ isKey }) => isKey)
  return <Table label={label} rows={rows} keyOf={(row) => keys.map(({ text }) => text(row)).join(" ")} columns={[...shared, ...more]} />
}
