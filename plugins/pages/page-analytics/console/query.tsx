// SQL editor with the documented tables. The result is a table and a picture. The query is part of the URL, so it can be shared.
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import {
  Answered,
  Copy,
  Editor,
  go,
  hrefOf,
  inBackground,
  mayCall,
  type Output,
  Problem,
  query,
  SameAs,
  setQuery,
  Table,
  UntrustedText,
  useAnswer,
  useSubmit,
} from "#console"
import { Found } from "./result.tsx"

type Schema = Output<"page_analytics.schema">

const first = "SELECT artifact_id, pageviews, visitors, leads, conversion_rate\nFROM pages\nORDER BY visitors DESC"

export default function Query() {
  const { sql = "" } = query()
  const text = useSignal(sql || first)
  const schema = useAnswer("page_analytics.schema")
  const result = useAnswer(sql === "" ? undefined : "page_analytics.query", { query: sql })
  useEffect(() => {
    if (sql !== "") text.value = sql
  }, [sql])
  const ask = () => {
    if (text.value === sql) result.reload()
    else setQuery({ sql: text.value }, { isStep: true })
  }
  return (
    <>
      <p>
        <a href="/console/page_analytics">Analytics</a>
      </p>
      <h1>Ask analytics</h1>
      <Editor
        label="SQL"
        language="sql"
        text={text.value}
        onChange={(next) => {
          text.value = next
        }}
        onRun={ask}
        complete={(typed, offset) => completionsOf(schema.answer, typed, offset)}
      />
      <div class="verbs">
        <button type="button" class="primary" onClick={ask}>
          Run
        </button>
        <kbd>Ctrl Enter</kbd>
        {sql !== "" && <Copy text={location.href} name="link" />}
      </div>
      {sql !== "" && (
        <Answered of={result}>
          {(found) => (
            <>
              <Found result={found} />
              {mayCall("page_analytics.save_report") && <Save key={found.snapshot} sql={sql} snapshot={found.snapshot} />}
            </>
          )}
        </Answered>
      )}
      <h2>Tables</h2>
      <Answered of={schema}>
        {({ tables }) =>
          tables.map(({ name, about, columns }) => (
            <details key={name}>
              <summary>
                <code>{name}</code> <UntrustedText text={about} />
              </summary>
              <Table
                label={`Columns of ${name}`}
                rows={columns}
                keyOf={(column) => column.name}
                columns={[
                  { name: "column", show: (column) => <code>{column.name}</code> },
                  { name: "type", show: ({ type }) => type },
                  { name: "is", show: (column) => <UntrustedText text={column.about} /> },
                ]}
              />
            </details>
          ))
        }
      </Answered>
      {sql !== "" && <SameAs name="page_analytics.query" input={{ query: sql }} />}
    </>
  )
}

/** Saves the query under a name, with the snapshot of the answer above. A reader of the report sees the same rows. */
function Save({ sql, snapshot }: { readonly sql: string; readonly snapshot: string }) {
  const name = useSignal("")
  const input = { name: name.value.trim(), query: sql, snapshot }
  const { submit, isBusy, error } = useSubmit("page_analytics.save_report", input)
  const save = async (event: SubmitEvent) => {
    event.preventDefault()
    const report = input.name === "" ? undefined : await submit(input)
    if (report) go(hrefOf(["page_analytics", "reports", report.slug]))
  }
  return (
    <form class="filters" aria-label="Save" onSubmit={(event) => inBackground(save(event))}>
      <div>
        <label for="report-name">Name of a report</label>
        <input
          id="report-name"
          required
          maxLength={200}
          autocomplete="off"
          value={name.value}
          onInput={(event) => {
            name.value = event.currentTarget.value
          }}
        />
      </div>
      <button type="submit" aria-disabled={isBusy}>
        Save these rows
      </button>
      {error && <Problem text={error.message} />}
    </form>
  )
}

/** Completes tables, columns and functions by the word before the offset. */
function completionsOf(schema: Schema | undefined, typed: string, offset: number) {
  const before = /\w*$/.exec(typed.slice(0, offset))?.[0] ?? ""
  if (!schema || before === "") return null
  const columns = new Map(schema.tables.flatMap((table) => table.columns.map((column) => [column.name, column] as const)))
  const options = [
    ...schema.tables.map(({ name, about }) => ({ label: name, detail: "table", info: about })),
    ...[...columns.values()].map(({ name, type, about }) => ({ label: name, detail: type, info: about })),
    ...schema.functions.map((label) => ({ label, detail: "function" })),
  ]
  return { from: offset - before.length, options }
}
