// A form for the input of an operation, built from its schema. Errors of the service appear at their fields.
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { ClientError } from "#client"
import { type Operation, operations, type Row, verbOf, words } from "./api.ts"
import { confirmed } from "./buttons.tsx"
import { inBackground } from "./connection.ts"
import { mayCall } from "./contributions.ts"
import { Field } from "./field.tsx"
import { hrefOfOne, idOf, kindMade, pathFields } from "./paths.ts"
import { CallExamples } from "./same.tsx"
import { fieldsOf, isRequired, type Schema, textOf, typesOf, valueIn } from "./schema.ts"
import { useSubmit } from "./submit.ts"
import { Fields } from "./value.tsx"

type Texts = Readonly<Record<string, string>>

interface FormArgs {
  readonly operation: Operation
  /** Preset fields, such as path fields. */
  readonly known?: Texts
  /** Current state of the changed resource. The form shows its fields and sends only changed fields. */
  readonly present?: Row | undefined
  /** Called after a conflicting change of another person, for a reload. Edits in the form remain. */
  readonly onStale?: (() => void) | undefined
  /** Called with the response on success. */
  readonly onDone?: (answer: Row) => void
}

/** Forms with at most this many fields show all of them. */
const maxTogether = 6

export function Form({ operation, known: preset = {}, present, onStale, onDone }: FormArgs) {
  const ownFields = fieldsOf(operation)
  const isChange = present !== undefined
  const before: Texts = Object.fromEntries(ownFields.map(([name, schema]) => [name, textOf(presentOf(name, present), schema)]))
  const edits = useSignal<Texts>({})
  const wrong = useSignal<Texts>({})
  const texts: Texts = { ...before, ...preset, ...edits.value }
  const { submit: send, isBusy, answer, error } = useSubmit(operation.name)
  const isStale = isChange && error?.code === "aborted"
  useEffect(() => {
    if (isStale) onStale?.()
  }, [error])
  const createdKind = isChange ? undefined : kindMade(operation)
  const madeId = createdKind && answer ? idOf(answer, createdKind) : ""
  const problems = { ...problemsOf(error), ...wrong.value }
  const inPath = pathFields(operation)
  const isSent = (name: string) =>
    isChange && operation.method === "PATCH"
      ? texts[name] !== before[name] || name in preset || name === "expected_revision"
      : texts[name] !== ""

  const submit = async (event: Event) => {
    event.preventDefault()
    const { input, wrong: errors } = inputOf(ownFields, texts, isSent)
    wrong.value = errors
    if (Object.keys(errors).length > 0) return
    if (operation.destructive && !(await confirmed(questionOf(operation, isChange ? Object.keys(edits.value).map(words) : [])))) return
    const result = await send(input)
    if (!result) return
    // Cleared edits keep the next press from creating a second resource.
    if (isChange || createdKind) edits.value = {}
    onDone?.(result)
  }

  const fields = ownFields.filter(
    ([name]) => !(inPath.includes(name) && preset[name] !== undefined) && !(isChange && name === "expected_revision"),
  )
  const isFolded = ([name]: [string, Schema]) =>
    fields.length > maxTogether && !isRequired(operation, name) && !texts[name] && !(name in edits.value) && problems[name] === undefined
  const field = ([name, schema]: [string, Schema]) => (
    <Field
      key={name}
      operation={operation.name}
      name={name}
      schema={schema}
      text={texts[name] ?? ""}
      problem={problems[name]}
      isRequired={isRequired(operation, name)}
      onText={(text) => {
        edits.value = { ...edits.value, [name]: text }
      }}
    />
  )
  const folded = isChange ? [] : fields.filter(isFolded)
  return (
    <form onSubmit={(event) => inBackground(submit(event))} aria-label={verbOf(operation)} noValidate>
      <p>{operation.summary}</p>
      {fields.filter((entry) => !folded.includes(entry)).map(field)}
      {folded.length > 0 && (
        <details open={folded.length === fields.length}>
          <summary>
            {folded.length} more {folded.length === 1 ? "field" : "fields"}: {folded.map(([name]) => words(name)).join(", ")}
          </summary>
          {folded.map(field)}
        </details>
      )}
      <button type="submit" aria-disabled={isBusy} class={operation.method === "DELETE" ? "danger" : "primary"}>
        {verbOf(operation)}
      </button>
      <p role="status">
        {isStale && onStale
          ? "Somebody else has changed it meanwhile. It was read again: what you wrote is still here, the rest is as it is now."
          : error?.message}
      </p>
      {answer !== undefined && (
        <section aria-label="Answer">
          <h3>Done</h3>
          {createdKind && madeId !== "" && (
            <p>
              <a href={hrefOfOne(createdKind, [...inPath.map((name) => texts[name] ?? ""), madeId])}>Look at it</a>
            </p>
          )}
          {!isChange && <Fields row={answer} />}
        </section>
      )}
      <CallExamples operation={operation} input={inputOf(ownFields, texts, isSent).input} />
    </form>
  )
}

/** Returns the question before a replacement or deletion. */
export function questionOf(operation: Operation, changed: readonly string[] = []) {
  const isDangerous = operation.method === "DELETE"
  const after = isDangerous ? "This cannot be taken back." : changed.length > 0 ? `It changes: ${changed.join(", ")}.` : ""
  return { title: `${verbOf(operation)}: go on?`, text: `${operation.summary} ${after}`.trim(), verb: verbOf(operation), isDangerous }
}

/** Returns the current value of a field. The expected revision is the revision of the resource. */
function presentOf(name: string, present: Row | undefined): unknown {
  if (present === undefined) return undefined
  return name === "expected_revision" ? present["revision"] : present[name]
}

function problemsOf(error: ClientError | undefined): Texts {
  const fields = (error?.details["fields"] ?? []) as { path: string; message: string }[]
  return Object.fromEntries(fields.map((field) => [field.path.split(".")[0] ?? "", field.message]))
}

/** The form of an operation by name. Empty if the caller lacks the right. */
export function OperationForm({ name, ...props }: Omit<FormArgs, "operation"> & { readonly name: string }) {
  const operation = operations.value.find((candidate) => candidate.name === name)
  return operation && mayCall(name) ? <Form operation={operation} {...props} /> : null
}

/** The form of an operation, folded below its title. */
export function OperationDetails({
  title,
  name,
  ...props
}: Omit<FormArgs, "operation"> & { readonly title: string; readonly name: string }) {
  return mayCall(name) ? (
    <details>
      <summary>{title}</summary>
      <OperationForm name={name} {...props} />
    </details>
  ) : null
}

function inputOf(fields: readonly [string, Schema][], texts: Texts, isSent: (name: string) => boolean) {
  const input: Record<string, unknown> = {}
  const wrong: Record<string, string> = {}
  for (const [name, schema] of fields) {
    const text = texts[name] ?? ""
    if (!isSent(name) || (text === "" && !typesOf(schema).some((type) => ["string", "null", "array"].includes(type)))) continue
    try {
      input[name] = valueIn(text, schema)
    } catch {
      wrong[name] = "This is not JSON; a text stands in double quotes."
    }
  }
  return { input, wrong }
}
