// What can be done with one thing: what needs nothing else is a button, the rest opens a form, which the address names.

import { areaOf, type Operation, type Row, verbOf } from "./api.ts"
import { OperationButton } from "./buttons.tsx"
import { hrefWith, query } from "./filters.tsx"
import { Form, questionOf } from "./form.tsx"
import { actionsOf, given, isOf, type Kind, pathFields, readsWithin } from "./paths.ts"
import { go, hrefOf } from "./place.ts"
import { fieldsOf, isRequired } from "./schema.ts"

interface ActionsArgs {
  readonly kind: Kind
  readonly values: readonly string[]
  /** As it is now. */
  readonly row: Row
  /** Those that stand elsewhere. */
  readonly without: ReadonlySet<Operation | undefined>
  readonly onDone: () => void
}

export function Actions({ kind, values, row, without, onDone }: ActionsArgs) {
  const actions = actionsOf(kind).filter((one) => !without.has(one))
  const open = actions.find(({ name }) => name === query()["do"])
  const done = (one: Operation) => () => {
    if (one.method === "DELETE" && isOf(one, kind)) return go(hrefOf([areaOf(one)]))
    if (open === one && !tells(one, kind)) go(hrefWith({ do: "" }), { replace: true })
    onDone()
  }
  const reads = readsWithin(kind)
  // What removes it stands last.
  const sorted = [...actions].sort((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"))
  if (sorted.length + reads.length === 0) return null
  return (
    <>
      <div class="verbs">
        {sorted.map((one) =>
          asks(one) || tells(one, kind) ? (
            <a
              key={one.name}
              class="button"
              href={hrefWith({ do: one === open ? "" : one.name })}
              aria-current={one === open ? "true" : undefined}
            >
              {verbOf(one)}
            </a>
          ) : (
            <Button key={one.name} operation={one} values={values} onDone={done(one)} />
          ),
        )}
        {reads.map((one) => (
          <a
            key={one.name}
            {...(one.streams
              ? { href: pathOf(one, values), download: "" }
              : { href: hrefOf([areaOf(one), "-", one.name], given(one, values)) })}
          >
            {verbOf(one)}
          </a>
        ))}
      </div>
      {open && (
        <div class="opened">
          <Form
            key={open.name}
            operation={open}
            known={given(open, values)}
            present={isChange(open, kind) ? row : undefined}
            onStale={onDone}
            onDone={done(open)}
          />
        </div>
      )}
    </>
  )
}

/** Whether it needs more than who it is of. */
function asks(operation: Operation): boolean {
  return fieldsOf(operation).some(
    ([name]) => !pathFields(operation).includes(name) && (name !== "expected_revision" || isRequired(operation, name)),
  )
}

/** Whether its answer says more than the thing does: a secret, what became of it. */
function tells({ method, output }: Operation, { reader, list }: Kind): boolean {
  const known = (reader ?? list)?.output ?? {}
  return method !== "DELETE" && reader !== undefined && Object.keys(output).some((name) => !(name in known))
}

const isChange = (operation: Operation, kind: Kind) => (operation.method === "PATCH" || operation.method === "PUT") && isOf(operation, kind)

const pathOf = (operation: Operation, values: readonly string[]) =>
  pathFields(operation).reduce((path, name, index) => path.replace(`{${name}}`, encodeURIComponent(values[index] ?? "")), operation.path)

interface ActionArgs {
  readonly operation: Operation
  readonly values: readonly string[]
  readonly onDone: () => void
}

function Button({ operation, values, onDone }: ActionArgs) {
  const { title, text, isDangerous } = questionOf(operation)
  const ask = operation.destructive ? { ask: title, about: text } : {}
  return (
    <OperationButton operation={operation.name} input={given(operation, values)} isDangerous={isDangerous} onDone={onDone} {...ask}>
      {verbOf(operation)}
    </OperationButton>
  )
}

/** The form that adds to a list, folded below it. */
export function Adding({ operation, values, onDone }: ActionArgs) {
  return (
    <details>
      <summary>{verbOf(operation)}</summary>
      <Form operation={operation} known={given(operation, values)} onDone={onDone} />
    </details>
  )
}
