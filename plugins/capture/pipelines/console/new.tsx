// Creates a pipeline in the editor. Its secret is shown once.
import "./pipelines.css"
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Editor, hrefOf, inBackground, Problem, type Row, readDocument, UntrustedText, useSubmit } from "#console"
import { Once } from "./secret.tsx"
import { useHelp } from "./text.ts"

const first = `name: Website lead
state: active
source_kind: custom_http
auth_mode: hmac_sha256
request_schema:
  type: object
  required: [email]
  properties:
    email: { type: string, format: email }
pipeline:
  - id: save
    type: dataset.write
    dataset_slug: leads
    key: email
`

export default function NewPipeline() {
  const help = useHelp()
  const text = useSignal(first)
  const problem = useSignal("")
  const document = useSignal<Row | undefined>(undefined)
  const { submit, isBusy, answer, error } = useSubmit("event_pipelines.create", document.value)
  useEffect(() => {
    const of = text.value
    inBackground(
      readDocument(of).then(({ value }) => {
        if (text.value === of) document.value = typeof value === "object" && value !== null ? (value as Row) : undefined
      }),
    )
  }, [text.value])
  const create = async () => {
    problem.value = ""
    const { value, findings } = await readDocument(text.value)
    const [fault] = findings
    if (typeof value !== "object" || value === null)
      problem.value = fault ? `Line ${fault.line}: ${fault.message}` : "A document is an object with fields."
    else await submit(value)
  }
  return (
    <>
      <p>
        <a href="/console/event_pipelines">Pipelines</a>
      </p>
      <h1>New pipeline</h1>
      {answer ? (
        <section aria-label="Made">
          <p role="status">
            <a href={hrefOf(["event_pipelines", answer.slug])}>
              <UntrustedText text={answer.name} />
            </a>{" "}
            was made.
          </p>
          {answer.warnings.map((one) => (
            <p key={one} class="problem">
              <UntrustedText text={one} />
            </p>
          ))}
          {answer.secret && <Once secret={answer.secret} />}
        </section>
      ) : (
        <>
          <Editor
            label="Document"
            language="yaml"
            text={text.value}
            lint={help.lint}
            complete={help.complete}
            onChange={(next) => {
              text.value = next
            }}
            onRun={() => inBackground(create())}
          />
          <div class="verbs">
            <button type="button" class="primary" aria-disabled={isBusy} onClick={() => inBackground(create())}>
              Create
            </button>
            <kbd>Ctrl Enter</kbd>
          </div>
          {problem.value !== "" && <Problem text={problem.value} />}
          {error && <Problem text={error.message} />}
        </>
      )}
    </>
  )
}
