// The declared list of an operation: filters, rows and pages.
import { Nothing, Problem, useAnswer } from "./answer.tsx"
import { areaOf, type Operation, type Row, words } from "./api.ts"
import { type Filter, FilterBar, hrefWith, query } from "./filters.tsx"
import { type Kind, kindOf, listField, pageAfter, pathInput } from "./paths.ts"
import { hrefOf } from "./place.ts"
import { Rows, rowKey } from "./rows.tsx"
import { CallExamples } from "./same.tsx"
import { choicesOf, fieldsOf, isMoment, type Schema, typesOf } from "./schema.ts"
import { exampleMoment, formatNumber, momentOf } from "./show.tsx"
import { Fields } from "./value.tsx"

interface ListArgs {
  readonly list: Operation
  /** Path values. */
  readonly values: readonly string[]
  /** Other preset fields. */
  readonly fixed?: Readonly<Record<string, string>>
  /** Kind of the rows, if different from the list's kind. */
  readonly kind?: Kind | undefined
  /** Hides filters and pages, for a list inside another page. */
  readonly isPart?: boolean
}

const paging = ["cursor", "offset", "limit"]

export function List({ list, values, fixed = {}, kind = kindOf(list), isPart = false }: ListArgs) {
  const preset = { ...pathInput(list, values), ...fixed }
  const fields = isPart ? [] : fieldsOf(list).filter(([name]) => !(name in preset))
  const filters = fields.filter(([name]) => !paging.includes(name)).map(filterOf)
  const input = { ...preset, ...inputOf(fields) }
  const { answer, problem, isLoading } = useAnswer(list.name, input)
  const field = listField(list) ?? ""
  const rows = (answer?.[field] ?? []) as Row[]
  const selected = rows.find((row, index) => rowKey(row, index) === query()["row"])
  const isFiltered = filters.some(({ name }) => query()[name])
  return (
    <>
      {filters.length > 0 && <FilterBar filters={filters} resets={["cursor", "offset", "row"]} />}
      {problem && <Problem text={problem} />}
      {isLoading && !answer && (
        <p role="status" class="about">
          Loading
        </p>
      )}
      {answer && rows.length === 0 && <Nothing>{isFiltered ? "Nothing is like this." : "There is nothing here yet."}</Nothing>}
      {selected && !kind && !isPart && (
        <section aria-label="Chosen" class="chosen">
          <Fields row={selected} />
          <a href={hrefWith({ row: "" })}>Close</a>
        </section>
      )}
      {rows.length > 0 && (
        <Rows
          label={words(field)}
          rows={rows}
          area={areaOf(list)}
          field={field}
          list={list}
          values={values}
          kind={kind}
          opensHere={!isPart}
        />
      )}
      {answer && isPart && answer["next_cursor"] && (
        <p>
          <a href={hrefOf([areaOf(list), "-", list.name], pathInput(list, values))}>All of them</a>
        </p>
      )}
      {answer && !isPart && <Pages answer={answer} list={list} count={rows.length} />}
      {answer && !isPart && <Beside answer={answer} field={field} />}
      {!isPart && <CallExamples operation={list} input={input} />}
    </>
  )
}

function filterOf([name, schema]: [string, Schema]): Filter {
  const choices = choicesOf(schema)
  const placeholder = isMoment(schema) ? exampleMoment() : ""
  return { name, label: words(name), placeholder, ...(choices && { choices }), ...(schema.description && { about: schema.description }) }
}

/** Reads these fields from the URL. */
function inputOf(fields: readonly [string, Schema][]): Record<string, unknown> {
  const values = query()
  const input: Record<string, unknown> = {}
  for (const [name, schema] of fields) {
    const text = values[name]
    const types = typesOf(schema)
    if (!text) continue
    if (isMoment(schema)) input[name] = momentOf(text)
    else input[name] = types.includes("integer") ? Number(text) : types.includes("boolean") ? text === "true" : text
  }
  return input
}

/** Shows fields of the response besides the list. */
function Beside({ answer, field }: { readonly answer: Row; readonly field: string }) {
  const extras = Object.entries(answer).filter(
    ([name, value]) => ![field, "next_cursor", "total"].includes(name) && value !== null && Object.keys(value as object).length > 0,
  )
  return extras.length > 0 ? <Fields row={Object.fromEntries(extras)} /> : null
}

function Pages({ answer, list, count }: { readonly answer: Row; readonly list: Operation; readonly count: number }) {
  const { cursor = "", offset = "" } = query()
  const total = typeof answer["total"] === "number" ? answer["total"] : undefined
  const next = pageAfter(list, answer, Number(offset) || 0, count)
  if (!next && cursor === "" && offset === "") return null
  return (
    <p class="verbs">
      {(cursor !== "" || offset !== "") && <a href={hrefWith({ cursor: "", offset: "", row: "" })}>First page</a>}
      {next && <a href={hrefWith({ ...next, row: "" })}>Next page</a>}
      {total !== undefined && <span class="about">{formatNumber(total)} in all</span>}
    </p>
  )
}
