// A form for the input of an operation, made of its schema; what is refused stands at its field, in the service's words.
import { useSignal } from "@preact/signals"
import type { ClientError } from "#client"
import { type Operation, operations, pathFields, type Row, verbOf } from "./api.ts"
import { confirmed } from "./buttons.tsx"
import { mayCall } from "./contributions.ts"
import { Same } from "./same.tsx"
import { useSubmit } from "./submit.ts"
import { Fields } from "./value.tsx"

interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly description?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly format?: string
}

type Given = Readonly<Record<string, string>>
type Problems = Readonly<Record<string, string>>

export function fieldsOf({ input }: Operation): [name: string, schema: Schema][] {
  return Object.entries((input as Schema).properties ?? {})
}

interface FormArgs {
  readonly operation: Operation
  /** Fields that are known already, such as those of the path. */
  readonly known?: Given
  /** Called with the answer when it was done. */
  readonly onDone?: (answer: Row) => void
}

export function Form({ operation, known = {}, onDone }: FormArgs) {
  const given = useSignal<Given>(known)
  const wrong = useSignal<Problems>({})
  const asked = fieldsOf(operation)
  const { submit: send, isBusy, answer, error } = useSubmit(operation.name)
  const problems = { ...problemsOf(error), ...wrong.value }

  const submit = async (event: Event) => {
    event.preventDefault()
    const { input, wrong: found } = inputOf(asked, given.value)
    wrong.value = found
    if (Object.keys(found).length > 0) return
    const title = `${verbOf(operation)}: go on?`
    if (operation.destructive) {
      const text = `${operation.summary} This cannot be taken back.`
      if (!(await confirmed({ title, text, verb: verbOf(operation), isDangerous: true }))) return
    }
    const done = await send(input)
    if (done) onDone?.(done)
  }

  const required = (operation.input as Schema).required ?? []
  return (
    <form onSubmit={(event) => void submit(event)} aria-label={verbOf(operation)} noValidate>
      <p>{operation.summary}</p>
      {asked.map(([name, schema]) => (
        <Field
          key={name}
          name={name}
          schema={schema}
          text={given.value[name] ?? ""}
          problem={problems[name]}
          isRequired={required.includes(name)}
          isFixed={pathFields(operation).includes(name) && known[name] !== undefined}
          onText={(text) => {
            given.value = { ...given.value, [name]: text }
          }}
        />
      ))}
      <button type="submit" disabled={isBusy} class={operation.destructive ? "danger" : ""}>
        {verbOf(operation)}
      </button>
      <p role="status">{error?.message}</p>
      {answer !== undefined && (
        <section aria-label="Answer">
          <h3>Done</h3>
          <Fields row={answer} />
        </section>
      )}
      <Same operation={operation} input={inputOf(asked, given.value).input} />
    </form>
  )
}

function problemsOf(error: ClientError | undefined): Problems {
  const fields = (error?.details["fields"] ?? []) as { path: string; message: string }[]
  return Object.fromEntries(fields.map((field) => [field.path.split(".")[0] ?? "", field.message]))
}

/** The form of an operation by its name; nothing for who may not call it. */
export function OperationForm({ name, ...rest }: Omit<FormArgs, "operation"> & { readonly name: string }) {
  const operation = operations.value.find((one) => one.name === name)
  return operation && mayCall(name) ? <Form operation={operation} {...rest} /> : null
}

interface FieldArgs {
  readonly name: string
  readonly schema: Schema
  readonly text: string
  readonly problem: string | undefined
  readonly isRequired: boolean
  readonly isFixed: boolean
  readonly onText: (text: string) => void
}

function Field({ name, schema, text, problem, isRequired, isFixed, onText }: FieldArgs) {
  const id = `field-${name}`
  const common = {
    id,
    value: text,
    disabled: isFixed,
    "aria-invalid": problem !== undefined,
    "aria-describedby": `${id}-about`,
    onInput: (event: Event) => onText((event.currentTarget as HTMLInputElement).value),
  }
  const choices = schema.enum ?? (schema.type === "boolean" ? [true, false] : undefined)
  const secret = /(?:secret|password|credentials)$/.test(name) && schema.type === "string"
  return (
    <div class="field">
      <label for={id}>
        {name}
        {isRequired ? <small> required</small> : null}
      </label>
      {choices ? (
        <select {...common}>
          <option value="" />
          {choices.map((choice) => (
            <option key={String(choice)}>{String(choice)}</option>
          ))}
        </select>
      ) : isText(schema) ? (
        secret ? (
          <input type="password" autocomplete="off" {...common} />
        ) : (
          <input type="text" autocomplete="off" {...common} />
        )
      ) : (
        <textarea rows={4} spellcheck={false} {...common} />
      )}
      <p id={`${id}-about`} class={problem === undefined ? "about" : "problem"}>
        {problem ?? schema.description ?? ""}
      </p>
    </div>
  )
}

function typesOf({ type }: Schema): readonly string[] {
  return typeof type === "string" ? [type] : (type ?? [])
}

function isText(schema: Schema): boolean {
  const types = typesOf(schema)
  return types.length > 0 && types.every((type) => ["string", "integer", "number", "null"].includes(type))
}

/** Throws where a list or an object is not JSON. */
function readValue(text: string, schema: Schema): unknown {
  const types = typesOf(schema)
  if (schema.type === "boolean") return text === "true"
  if (types.includes("integer") || types.includes("number")) return Number.isNaN(Number(text)) ? text : Number(text)
  if (schema.enum || types.includes("string")) return text
  return JSON.parse(text)
}

function inputOf(asked: readonly [string, Schema][], given: Given): { input: Record<string, unknown>; wrong: Record<string, string> } {
  const input: Record<string, unknown> = {}
  const wrong: Record<string, string> = {}
  for (const [name, schema] of asked) {
    const text = given[name] ?? ""
    if (text === "") continue
    try {
      input[name] = readValue(text, schema)
    } catch {
      wrong[name] = "This is not JSON; a text stands in double quotes."
    }
  }
  return { input, wrong }
}
