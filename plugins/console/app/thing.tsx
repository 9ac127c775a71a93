// The generic page of a resource: its actions, its fields and its lists.

import { Actions, Adding } from "./actions.tsx"
import { Answered, useAnswer } from "./answer.tsx"
import { areaOf, capital, type Operation, type Row, words } from "./api.ts"
import { viewOf } from "./contributions.ts"
import { UntrustedText } from "./foreign.tsx"
import { List } from "./list.tsx"
import { adderOf, hrefOfOne, idOf, type Kind, kindAbove, listField, listsWithin, pathFields, pathInput } from "./paths.ts"
import { hrefOf } from "./place.ts"
import { Rows } from "./rows.tsx"
import { CallExamples } from "./same.tsx"
import { fieldsOf } from "./schema.ts"
import { at, Fields, FieldValue, isRows, sortByRank } from "./value.tsx"

interface ThingArgs {
  readonly kind: Kind
  /** Path values in order. Empty for a singleton. */
  readonly values: readonly string[]
}

const maxListed = 200

export function Thing({ kind, values }: ThingArgs) {
  const by = kind.reader ?? kind.list
  const input = by ? pathInput(by, values) : {}
  const hasLimit = by && !kind.reader && fieldsOf(by).some(([name]) => name === "limit")
  const response = useAnswer(by?.name, hasLimit ? { ...input, limit: maxListed } : input)
  if (!by) return null
  const isOnly = values.length === 0
  return (
    <>
      {!isOnly && <Crumbs kind={kind} values={values} />}
      {!isOnly && !response.answer && (
        <h1>
          <bdi>{values.at(-1)}</bdi>
        </h1>
      )}
      <Answered of={response}>
        {(answer) => {
          const row = kind.reader ? wholeOf(answer) : rowIn(answer, kind, values.at(-1) ?? "")
          return row ? (
            <>
              {!isOnly && <Heading row={row} called={viewOf(areaOf(by)).called ?? []} otherwise={values.at(-1) ?? ""} />}
              <Details kind={kind} values={values} row={row} reload={response.reload} />
            </>
          ) : (
            <p>It is not among the first {maxListed} of its list.</p>
          )
        }}
      </Answered>
      {kind.reader && <CallExamples operation={kind.reader} input={input} />}
    </>
  )
}

/** If the response contains one resource beside lists, the resource's fields move to the top. */
function wholeOf(answer: Row): Row {
  const [[name, value] = []] = Object.entries(answer)
  if (name === undefined || typeof value !== "object" || value === null || Array.isArray(value)) return answer
  const { [name]: _own, ...otherFields } = answer
  return Object.values(otherFields).some(Array.isArray) ? { ...(value as Row), ...otherFields } : answer
}

function rowIn(answer: Row, kind: Kind, id: string): Row | undefined {
  const rows = (answer[(kind.list && listField(kind.list)) ?? ""] ?? []) as readonly Row[]
  return rows.find((row) => idOf(row, kind) === id)
}

interface HeadingArgs {
  readonly row: Row
  readonly called: readonly string[]
  readonly otherwise: string
}

function Heading({ row, called: nameFields, otherwise }: HeadingArgs) {
  const names = [...nameFields, "title", "name", "subject", "what", "objective", "slug", "key"].map((path) => at(row, path))
  const name = names.find((value) => typeof value === "string" && value !== "") ?? otherwise
  const state = row["status"] ?? row["state"]
  return (
    <h1>
      <UntrustedText text={String(name)} /> {typeof state === "string" && <FieldValue name="state" value={state} />}
    </h1>
  )
}

/** Links to the area and the parent resource. */
function Crumbs({ kind, values }: ThingArgs) {
  const area = areaOf((kind.list ?? kind.reader) as Operation)
  const above = values.length > 1 ? kindAbove(kind) : undefined
  return (
    <p>
      <a href={hrefOf([area])}>{viewOf(area).title}</a>
      {above && (
        <>
          {" / "}
          <a href={hrefOfOne(above, values.slice(0, -1))}>
            <bdi>{values.at(-2)}</bdi>
          </a>
        </>
      )}
    </p>
  )
}

interface WholeArgs extends ThingArgs {
  readonly row: Row
  readonly reload: () => void
}

interface Section {
  readonly field: string
  readonly list: Operation | undefined
  /** Rows of the resource's own response. Undefined for a separately read list. */
  readonly rows: readonly Row[] | undefined
}

function Details({ kind, values, row, reload }: WholeArgs) {
  const area = areaOf((kind.reader ?? kind.list) as Operation)
  const { lists = [], first } = viewOf(area)
  const sections = sectionsOf(kind, row).sort((a, b) => placeIn(lists, a.field) - placeIn(lists, b.field))
  // If several lists share an adding operation, it belongs to the first list.
  const adders = new Map(sections.flatMap(({ field, list }) => (list ? [[adderOf(list), field] as const] : [])).reverse())
  const names = sortByRank(Object.keys(row).filter((name) => !sections.some(({ field, rows }) => rows && field === name)))
  const isMain = kind.list === undefined || pathFields(kind.list).length === 0
  return (
    <>
      <Actions kind={kind} values={values} row={row} without={new Set(adders.keys())} onDone={reload} />
      <Fields row={Object.fromEntries(names.map((name) => [name, row[name]]))} first={isMain ? first : undefined} />
      {sections.map(({ field, list, rows }) => (
        <section key={field} aria-label={words(field)}>
          <h2>{capital(words(field))}</h2>
          {rows?.length === 0 && <p class="about">None yet.</p>}
          {rows && rows.length > 0 && (
            <Rows label={words(field)} rows={rows} area={area} field={(list && listField(list)) ?? field} list={list} values={values} />
          )}
          {!rows && list && <List list={list} values={values} isPart />}
          {[...adders].map(
            ([adder, of]) => of === field && adder && <Adding key={adder.name} operation={adder} values={values} onDone={reload} />,
          )}
        </section>
      ))}
    </>
  )
}

/** Returns the lists in the response, and the separately read lists. */
function sectionsOf(kind: Kind, row: Row): Section[] {
  const within = listsWithin(kind)
  const listOf = (field: string) => within.find((list) => field === listField(list) || field.endsWith(`_${listField(list)}`))
  const sections = Object.keys(row)
    .filter((field) => isRows(row[field]) || (Array.isArray(row[field]) && listOf(field)))
    .map((field): Section => ({ field, list: listOf(field), rows: row[field] as readonly Row[] }))
  const otherLists = within.filter((list) => !sections.some((section) => section.list === list))
  return [...sections, ...otherLists.map((list): Section => ({ field: listField(list) ?? "", list, rows: undefined }))]
}

function placeIn(order: readonly string[], field: string): number {
  const place = order.indexOf(field)
  return place < 0 ? order.length : place
}
