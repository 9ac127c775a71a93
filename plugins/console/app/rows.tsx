// Rows of a list with their declared columns. The first column links to the resource.
import type { Operation, Row } from "./api.ts"
import { viewOf } from "./contributions.ts"
import { hrefWith } from "./filters.tsx"
import { hrefOfOne, idOf, type Kind, kindOf } from "./paths.ts"
import { type Column, Table } from "./table.tsx"
import { at, columnsFor, FieldValue, isEmpty, isNumeric, titleOf } from "./value.tsx"

interface RowsArgs {
  readonly label: string
  readonly rows: readonly Row[]
  readonly area: string
  /** List field of the response. The area's view finds the columns by it. */
  readonly field: string
  /** List operation. */
  readonly list?: Operation | undefined
  /** Path values of the list. */
  readonly values?: readonly string[]
  /** Kind of the rows, if different from the list's kind. */
  readonly kind?: Kind | undefined
  /** Opens a row in place if it has no reader. */
  readonly opensHere?: boolean
}

export function Rows({ label, rows, area, field, list, values = [], kind = list && kindOf(list), opensHere = false }: RowsArgs) {
  const columnNames = viewOf(area).columns?.[field] ?? list?.columns ?? []
  const columns = columnsFor(rows, columnNames, kind !== undefined).map((declaredAs, index): Column<Row> => {
    const [path = "", title = titleOf(path)] = declaredAs.split(" as ")
    return {
      name: path,
      title,
      isNumber: rows.every((row) => isNumeric(at(row, path))),
      show(row) {
        const content = <FieldValue name={path} value={at(row, path)} isBrief />
        const href = index === 0 ? hrefOfRow(row) : undefined
        return href === undefined ? content : <a href={href}>{isEmpty(at(row, path)) ? nameOf(row) : content}</a>
      },
    }
  })
  const hrefOfRow = (row: Row): string | undefined => {
    if (kind) return hrefOfOne(kind, [...values, idOf(row, kind)])
    return opensHere ? hrefWith({ row: rowKey(row, rows.indexOf(row)) }) : undefined
  }
  // If the first column is empty, the next column with a value provides the name.
  const nameOf = (row: Row) => {
    const column = columns.find(({ name }) => !isEmpty(at(row, name)))
    return column ? <FieldValue name={column.name} value={at(row, column.name)} isBrief /> : "no name"
  }
  return <Table label={label} rows={rows} columns={columns} keyOf={rowKey} />
}

export const rowKey = (row: Row, index: number): string => String(row["id"] ?? row["request_id"] ?? index)
