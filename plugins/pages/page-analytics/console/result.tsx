// The answer to a query: a picture if possible, and every row as a table.
import { Ago, brief, Chart, type Column, formatNumber, formatShare, Nothing, type Output, VirtualTable, visible } from "#console"

export type Result = Output<"page_analytics.query">

interface PictureArgs {
  readonly label: string
  readonly result: Result
  readonly kind: "lines" | "bars"
  readonly shares?: readonly string[]
}

const maxPoints = 400
const numeric = /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|DOUBLE|FLOAT|DECIMAL)/

/** Draws names from the first column and numbers from the others. Draws no picture for other columns or too many rows. */
export function Picture({ label, result: { columns, types, rows }, kind, shares = [] }: PictureArgs) {
  if (rows.length === 0) return <Nothing>Nothing happened in this time.</Nothing>
  const isDrawn = columns.length > 1 && rows.length <= maxPoints && types.slice(1).every((type) => numeric.test(type))
  if (!isDrawn) return null
  const names = rows.map(([name]) => brief(name) || "none")
  const series = columns.slice(1).map((name, index) => ({ name, values: rows.map((row) => Number(row[index + 1] ?? 0)) }))
  const isShare = columns.slice(1).every((name) => shares.includes(name))
  return <Chart label={label} names={names} series={series} kind={kind} format={isShare ? formatShare : formatNumber} />
}

/** Row count, time of the copy, a picture if possible, and all rows. */
export function Found({ result }: { readonly result: Result }) {
  const { rows, truncated, as_of, note } = result
  return (
    <section aria-label="Answer">
      <p class="about" role="status">
        {rows.length === 1 ? "1 row" : `${formatNumber(rows.length)} rows`}
        {truncated ? ", and more that were cut" : ""}, as of <Ago value={as_of} />
      </p>
      {note && <p className="about">{note}</p>}
      <Picture label="Picture of the result" result={result} kind={/^\d{4}-/.test(String(rows[0]?.[0])) ? "lines" : "bars"} />
      {rows.length > 0 && <Rows result={result} />}
    </section>
  )
}

function Rows({ result: { columns, types, rows } }: { readonly result: Result }) {
  const shown = columns.map(
    (name, index): Column<readonly unknown[]> => ({
      name: `${index} ${name}`,
      title: <span title={types[index] ?? ""}>{visible(name)}</span>,
      show: (row) => brief(row[index]).slice(0, 500),
      isNumber: numeric.test(types[index] ?? ""),
      width: "12rem",
    }),
  )
  return <VirtualTable label="Result" columns={shown} count={rows.length} rowAt={(index) => rows[index]} />
}
