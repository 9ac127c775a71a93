// An area without a screen of its own, out of its operations: a list with its filters and pages, one of it, and forms.
import { Problem, useAnswer } from "./answer.tsx"
import { areaOf, listField, listsOf, may, type Operation, operations, pathFields, type Row, readerOf, verbOf, words } from "./api.ts"
import { Form, fieldsOf } from "./form.tsx"
import { go, hrefOf, place } from "./place.ts"
import { Same } from "./same.tsx"
import { brief, Fields } from "./value.tsx"

export function Area({ area }: { readonly area: string }) {
  const lists = listsOf(area)
  const list = lists.find(({ name }) => name === place.value.searchParams.get("list")) ?? lists[0]
  const others = operations.value.filter(
    (one) => areaOf(one) === area && may(one) && !one.streams && pathFields(one).length === 0 && !lists.includes(one),
  )
  return (
    <>
      <h1>{words(area)}</h1>
      <nav aria-label={`Operations of ${words(area)}`} class="verbs">
        {lists.length > 1 && lists.map((one) => <a href={hrefOf([area], { list: one.name })}>{verbOf(one)}</a>)}
        {others.map((one) => (
          <a key={one.name} href={hrefOf([area, "-", one.name])}>
            {verbOf(one)}
          </a>
        ))}
      </nav>
      {list ? <List key={list.name} area={area} list={list} /> : <p>This area has no list; choose an operation.</p>}
    </>
  )
}

function List({ area, list }: { readonly area: string; readonly list: Operation }) {
  const asked = fieldsOf(list)
  const query = place.value.searchParams
  const input: Record<string, unknown> = {}
  for (const [name, { type }] of asked) {
    const text = query.get(name)
    if (text) input[name] = type === "integer" ? Number(text) : type === "boolean" ? text === "true" : text
  }
  const { answer, problem, reload } = useAnswer(list.name, input)
  const rows = (answer?.[listField(list) ?? ""] ?? []) as Row[]
  const columns = columnsOf(list, rows)
  const reader = readerOf(area)
  const next = String(answer?.["next_cursor"] ?? "")
  const at = (change: Readonly<Record<string, string>>) => hrefOf([area], { ...Object.fromEntries(query), ...change })
  const filters = asked.filter(([name]) => !["cursor", "offset"].includes(name))
  return (
    <>
      {filters.length > 0 && (
        <form
          class="filters"
          aria-label="Filter"
          onSubmit={(event) => {
            event.preventDefault()
            const given = Object.fromEntries(new FormData(event.currentTarget)) as Record<string, string>
            go(at({ ...given, cursor: "", offset: "" }))
          }}
        >
          {filters.map(([name, { description = "" }]) => (
            <div key={name} title={description}>
              <label for={`filter-${name}`}>{name}</label>
              <input id={`filter-${name}`} name={name} defaultValue={query.get(name) ?? ""} autocomplete="off" />
            </div>
          ))}
          <button type="submit">Filter</button>
          <button type="button" onClick={reload}>
            Read again
          </button>
        </form>
      )}
      {problem && <Problem text={problem} />}
      {answer && rows.length === 0 && <p>There is nothing here yet.</p>}
      {rows.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
        <section class="scroll" tabIndex={0} aria-label={words(area)}>
          <table>
            <thead>
              <tr>
                {columns.map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <tr key={String(row["id"] ?? index)}>
                  {columns.map((name, column) => (
                    <td key={name}>
                      {column === 0 && reader ? (
                        <a href={hrefOf([area, idOf(row, reader)])}>{brief(row[name]) || "(open)"}</a>
                      ) : (
                        brief(row[name]).slice(0, 200)
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {next !== "" && (
        <p>
          <a href={at({ cursor: next })}>Next page</a>
        </p>
      )}
      <Same operation={list} input={input} />
    </>
  )
}

/** The columns that the operation declares, else the fields of the first row that are short. */
function columnsOf({ columns }: Operation, rows: readonly Row[]): readonly string[] {
  const first = rows[0] ?? {}
  const declared = columns.filter((name) => name in first)
  if (declared.length > 0) return declared
  return Object.keys(first)
    .filter((name) => typeof first[name] !== "object")
    .slice(0, 6)
}

/** What the reader's path takes: the field of that name, else slug, key, name or id. */
function idOf(row: Row, reader: Operation): string {
  const [asked = "id"] = pathFields(reader)
  const field = [asked, "slug", "key", "domain", "id"].find((name) => typeof row[name] === "string" && row[name] !== "")
  return String(row[field ?? "id"] ?? "")
}

export function One({ area, id }: { readonly area: string; readonly id: string }) {
  const reader = readerOf(area)
  const [field = "id"] = reader ? pathFields(reader) : []
  const input = { [field]: id }
  const { answer, problem, reload } = useAnswer(reader?.name, input)
  const actions = operations.value.filter(
    (one) => areaOf(one) === area && one !== reader && !one.streams && may(one) && pathFields(one)[0] === field,
  )
  return (
    <>
      <p>
        <a href={hrefOf([area])}>{words(area)}</a>
      </p>
      <h1>{id}</h1>
      {problem && <Problem text={problem} />}
      {answer && <Fields row={answer} />}
      {actions.map((one) => (
        <details key={one.name} class="action">
          <summary>{verbOf(one)}</summary>
          <Form operation={one} known={{ [field]: id }} onDone={reload} />
        </details>
      ))}
      {reader && <Same operation={reader} input={input} />}
    </>
  )
}

export function Do({ name }: { readonly name: string }) {
  const operation = operations.value.find((one) => one.name === name)
  if (!operation) return <p role="alert">The operation "{name}" does not exist.</p>
  const known = Object.fromEntries(place.value.searchParams)
  return (
    <>
      <p>
        <a href={hrefOf([areaOf(operation)])}>{words(areaOf(operation))}</a>
      </p>
      <h1>{verbOf(operation)}</h1>
      <Form key={name} operation={operation} known={known} />
    </>
  )
}
