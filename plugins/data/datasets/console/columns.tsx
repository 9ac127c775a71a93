// Table columns of a dataset with a width per type. Each title is a link that sorts.
import { brief, type Column, formatTime, hrefWith, type Output } from "#console"

export type Dataset = Output<"datasets.get">
export type Row = Output<"datasets.list_rows">["rows"][number]

/** Numbers show up to 17 digits, because a cut number would look like another number. */
const widths: Readonly<Record<string, string>> = { number: "11.5rem", boolean: "6rem", "date-time": "12rem", json: "18rem" }

const ownFields = new Set(["id", "created_at", "updated_at"])

/** Returns the name in filters, sorts and CSV: `id` is the row's own field, `values.id` the column. */
export function nameOfColumn(column: string): string {
  return ownFields.has(column) ? `values.${column}` : column
}

export function columnsOf({ columns }: Dataset, sort: string): Column<Row>[] {
  const own = columns.map(
    ({ name, type }): Column<Row> => ({
      name: nameOfColumn(name),
      title: <Sorting name={nameOfColumn(name)} type={type} sort={sort} />,
      show: ({ values }) => cellOf(values[name], type),
      isNumber: type === "number",
      width: widths[type] ?? "14rem",
    }),
  )
  const opening: Column<Row> = {
    // Column names contain no dots, so this name is free.
    name: ".row",
    title: "row",
    show: ({ id }) => <a href={hrefWith({ row: id })}>{id.slice(-6)}</a>,
    width: "6rem",
  }
  const created: Column<Row> = {
    name: "created_at",
    title: <Sorting name="created_at" type="date-time" sort={sort} />,
    show: ({ created_at }) => formatTime(created_at),
    width: "12rem",
  }
  return [opening, ...own, created]
}

function cellOf(value: unknown, type: string): string {
  if (type === "date-time" && typeof value === "string" && value !== "") return formatTime(value)
  return brief(value).slice(0, 300)
}

function Sorting({ name, type, sort }: { readonly name: string; readonly type: string; readonly sort: string }) {
  const next = sort === name ? `-${name}` : name
  const mark = sort === name ? " ↑" : sort === `-${name}` ? " ↓" : ""
  return (
    <a href={hrefWith({ sort: next, row: "" })} title={type}>
      {name}
      {mark}
    </a>
  )
}
