// Inserts rows from JSON. The service reports refused rows with their position.
import { useSignal } from "@preact/signals"
import { Editor, hrefWith, inBackground, mayCall, Problem, parseExact, SameAs, useSubmit } from "#console"
import type { Dataset } from "./columns.tsx"

const blanks: Readonly<Record<string, unknown>> = { number: 0, boolean: false, json: {} }

export function Insert({ dataset: { slug, key, columns } }: { readonly dataset: Dataset }) {
  const blank = Object.fromEntries(columns.map(({ name, type }) => [name, blanks[type] ?? ""]))
  const text = useSignal(JSON.stringify([columns.length > 0 ? blank : { email: "ada@example.com" }], null, 2))
  const problem = useSignal("")
  const { submit, isBusy, answer, error } = useSubmit("datasets.insert_rows")
  if (!mayCall("datasets.insert_rows")) return <p>Your role does not write rows.</p>
  const rows = parseExact(text.value)
  const input = { slug, rows, ...(key === null ? {} : { key }) }
  const insert = async () => {
    problem.value = rows === undefined ? "This is not JSON: a list of objects, one a row." : ""
    if (rows !== undefined) await submit(input)
  }
  return (
    <>
      <p>A list of objects, one a row{key === null ? "" : `; a row of the same ${key} is replaced`}.</p>
      <Editor
        label="Rows"
        language="yaml"
        text={text.value}
        onChange={(next) => {
          text.value = next
        }}
        onRun={() => inBackground(insert())}
      />
      <div class="verbs">
        <button type="button" class="primary" aria-disabled={isBusy} onClick={() => inBackground(insert())}>
          Insert
        </button>
        <kbd>Ctrl Enter</kbd>
      </div>
      {(problem.value || error) && <Problem text={problem.value || (error?.message ?? "")} />}
      {answer && (
        <p role="status">
          {answer.row_ids.length} written. <a href={hrefWith({ part: "", row: "" })}>Show the rows</a>
        </p>
      )}
      {rows !== undefined && <SameAs name="datasets.insert_rows" input={input} />}
    </>
  )
}
