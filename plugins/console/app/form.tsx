// A form for the input of an operation, made of its schema; what is refused stands at its field, in the service's words.
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { ClientError } from "#client"
import { type Operation, operations, type Row, verbOf, words } from "./api.ts"
import { confirmed } from "./buttons.tsx"
import { mayCall } from "./contributions.ts"
import { Field } from "./field.tsx"
import { inBackground } from "./in-background.ts"
import { hrefOfOne, idOf, kindMade, pathFields } from "./paths.ts"
import { Same } from "./same.tsx"
import { fieldsOf, isRequired, type Schema, textOf, typesOf, valueIn } from "./schema.ts"
import { useSubmit } from "./submit.ts"
import { Fields } from "./value.tsx"

type Texts = Readonly<Record<string, string>>

interface FormArgs {
  readonly operation: Operation
  /** Fields that are known already, such as those of the path. */
  readonly known?: Texts
  /** What is changed, as it is now: its fields stand in the form, and only those go out that were changed. */
  readonly present?: Row | undefined
  /** Called where somebody else changed it meanwhile, to read it again: what was written here stays. */
  readonly onStale?: (() => void) | undefined
  /** Called with the answer when it was done. */
  readonly onDone?: (answer: Row) => void
}

/** Fewer fields than this stand in the form together. */
const maxTogether = 6

export function Form({ operation, known = {}, present, onStale, onDone }: FormArgs) {
  const asked = fieldsOf(operation)
  const isChange = present !== undefined
  const before: Texts = Object.fromEntries(asked.map(([name, schema]) => [name, textOf(presentOf(name, present), schema)]))
  const given = useSignal<Texts>({})
  const wrong = useSignal<Texts>({})
  const texts: Texts = { ...before, ...known, ...given.value }
  const { submit: send, isBusy, answer, error } = useSubmit(operation.name)
  const isStale = isChange && error?.code === "aborted"
  useEffect(() => {
    if (isStale) onStale?.()
  }, [error])
  const made = isChange ? undefined : kindMade(operation)
  const madeId = made && answer ? idOf(answer, made) : ""
  const problems = { ...problemsOf(error), ...wrong.value }
  const inPath = pathFields(operation)
  const isSent = (name: string) =>
    isChange && operation.method === "PATCH"
      ? texts[name] !== before[name] || name in known || name === "expected_revision"
      : texts[name] !== ""

  const submit = async (event: Event) => {
    event.preventDefault()
    const { input, wrong: found } = inputOf(asked, texts, isSent)
    wrong.value = found
    if (Object.keys(found).length > 0) return
    if (operation.destructive && !(await confirmed(questionOf(operation, isChange ? Object.keys(given.value).map(words) : [])))) return
    const done = await send(input)
    if (!done) return
    // What was made is not made again by the next press.
    if (isChange || made) given.value = {}
    onDone?.(done)
  }

  const fields = asked.filter(
    ([name]) => !(inPath.includes(name) && known[name] !== undefined) && !(isChange && name === "expected_revision"),
  )
  const isFolded = ([name]: [string, Schema]) =>
    fields.length > maxTogether && !isRequired(operation, name) && !texts[name] && !(name in given.value) && problems[name] === undefined
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
        given.value = { ...given.value, [name]: text }
      }}
    />
  )
  const folded = isChange ? [] : fields.filter(isFolded)
  return (
    <form onSubmit={(event) => inBackground(submit(event))} aria-label={verbOf(operation)} noValidate>
      <p>{operation.summary}</p>
      {fields.filter((one) => !folded.includes(one)).map(field)}
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
          {made && madeId !== "" && (
            <p>
              <a href={hrefOfOne(made, [...inPath.map((name) => texts[name] ?? ""), madeId])}>Look at it</a>
            </p>
          )}
          {!isChange && <Fields row={answer} />}
        </section>
      )}
      <Same operation={operation} input={inputOf(asked, texts, isSent).input} />
    </form>
  )
}

/** What is asked before something is replaced or removed. */
export function questionOf(operation: Operation, changed: readonly string[] = []) {
  const isDangerous = operation.method === "DELETE"
  const after = isDangerous ? "This cannot be taken back." : changed.length > 0 ? `It changes: ${changed.join(", ")}.` : ""
  return { title: `${verbOf(operation)}: go on?`, text: `${operation.summary} ${after}`.trim(), verb: verbOf(operation), isDangerous }
}

/** The field of that name, or of the one thing that the answer holds. */
function presentOf(name: string, present: Row | undefined): unknown {
  if (present === undefined) return undefined
  return name === "expected_revision" ? present["revision"] : present[name]
}

function problemsOf(error: ClientError | undefined): Texts {
  const fields = (error?.details["fields"] ?? []) as { path: string; message: string }[]
  return Object.fromEntries(fields.map((field) => [field.path.split(".")[0] ?? "", field.message]))
}

/** The form of an operation by its name; nothing for who may not call it. */
export function OperationForm({ name, ...rest }: Omit<FormArgs, "operation"> & { readonly name: string }) {
  const operation = operations.value.find((one) => one.name === name)
  return operation && mayCall(name) ? <Form operation={operation} {...rest} /> : null
}

/** The same, folded below its title. */
export function OperationDetails({
  title,
  name,
  ...rest
}: Omit<FormArgs, "operation"> & { readonly title: string; readonly name: string }) {
  return mayCall(name) ? (
    <details>
      <summary>{title}</summary>
      <OperationForm name={name} {...rest} />
    </details>
  ) : null
}

function inputOf(asked: readonly [string, Schema][], texts: Texts, isSent: (name: string) => boolean) {
  const input: Record<string, unknown> = {}
  const wrong: Record<string, string> = {}
  for (const [name, schema] of asked) {
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
