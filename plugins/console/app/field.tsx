// One field of a form, by its schema.
import { words } from "./api.ts"
import { choicesOf, isLines, isLong, isMoment, isText, type Schema, typesOf } from "./schema.ts"
import { exampleMoment } from "./show.tsx"

interface FieldArgs {
  /** Operation of the field. A page may have several forms. */
  readonly operation: string
  readonly name: string
  readonly schema: Schema
  readonly text: string
  readonly problem: string | undefined
  readonly isRequired: boolean
  readonly onText: (text: string) => void
}

const hidden = /(?:secret|password|credentials)$/

export function Field(args: FieldArgs) {
  const { operation, name, schema, problem, isRequired } = args
  const id = `${operation}-${name}`
  const about = [schema.description, isLines(schema) ? "One a line." : isPlain(schema) ? "" : "As JSON."].filter(Boolean).join(" ")
  return (
    <div class="field">
      <label for={id}>
        {words(name)}
        {isRequired ? <small> required</small> : null}
      </label>
      <Control {...args} id={id} />
      <p id={`${id}-about`} class={problem === undefined ? "about" : "problem"}>
        {problem ?? about}
      </p>
    </div>
  )
}

const isPlain = (schema: Schema) => isText(schema) || choicesOf(schema) !== undefined

function Control({ id, name, schema, text, problem, onText }: FieldArgs & { readonly id: string }) {
  const common = {
    id,
    value: text,
    "aria-invalid": problem !== undefined,
    "aria-describedby": `${id}-about`,
    onInput: (event: Event) => onText((event.currentTarget as HTMLInputElement).value),
  }
  const { default: defaultValue } = schema
  const example = isMoment(schema) ? exampleMoment() : ""
  const otherwise = defaultValue === undefined || defaultValue === null || typeof defaultValue === "object" ? example : String(defaultValue)
  const choices = choicesOf(schema)
  if (choices) {
    return (
      <select {...common}>
        <option value="">{otherwise === "" ? "" : `${words(otherwise)}, unless chosen`}</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {words(choice)}
          </option>
        ))}
      </select>
    )
  }
  if (hidden.test(name) && isText(schema)) return <input type="password" autocomplete="off" {...common} />
  if (!isText(schema) || isLong(schema)) {
    const rows = Math.min(16, Math.max(isLines(schema) ? 2 : 4, text.split("\n").length))
    return <textarea rows={rows} spellcheck={false} {...common} />
  }
  const inputMode = typesOf(schema).includes("string") ? "text" : "decimal"
  return <input type="text" inputMode={inputMode} placeholder={otherwise} autocomplete="off" {...common} />
}
