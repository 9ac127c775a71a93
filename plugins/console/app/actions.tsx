// Actions on a resource. An action without further input is a button. Other actions open a form, and the URL names the open form.

import { areaOf, type Operation, type Row, verbOf } from "./api.ts"
import { OperationButton } from "./buttons.tsx"
import { hrefWith, query } from "./filters.tsx"
import { Form, questionOf } from "./form.tsx"
import { actionsOf, isOf, type Kind, pathFields, pathInput, readsWithin } from "./paths.ts"
import { go, hrefOf } from "./place.ts"
import { fieldsOf, isRequired } from "./schema.ts"

interface ActionsArgs {
  readonly kind: Kind
  readonly values: readonly string[]
  /** Current state of the resource. */
  readonly row: Row
  /** Actions placed elsewhere on the page. */
  readonly without: ReadonlySet<Operation | undefined>
  readonly onDone: () => void
}

export function Actions({ kind, values, row, without, onDone }: ActionsArgs) {
  const actions = actionsOf(kind).filter((operation) => !without.has(operation))
  const open = actions.find(({ name }) => name === query()["do"])
  const finish = (operation: Operation) => () => {
    if (operation.method === "DELETE" && isOf(operation, kind)) return go(hrefOf([areaOf(operation)]))
    if (open === operation && !hasDetails(operation, kind)) go(hrefWith({ do: "" }), { replace: true })
    onDone()
  }
  const reads = readsWithin(kind)
  // Deletion comes last.
  const sorted = [...actions].sort((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"))
  if (sorted.length + reads.length === 0) return null
  return (
    <>
      <div class="verbs">
        {sorted.map((operation) =>
          asks(operation) || hasDetails(operation, kind) ? (
            <a
              key={operation.name}
              class="button"
              href={hrefWith({ do: operation === open ? "" : operation.name })}
              aria-current={operation === open ? "true" : undefined}
            >
              {verbOf(operation)}
            </a>
          ) : (
            <Button key={operation.name} operation={operation} values={values} onDone={finish(operation)} />
          ),
        )}
        {reads.map((operation) => (
          <a
            key={operation.name}
            {...(operation.streams
              ? { href: pathOf(operation, values), download: "" }
              : { href: hrefOf([areaOf(operation), "-", operation.name], pathInput(operation, values)) })}
          >
            {verbOf(operation)}
          </a>
        ))}
      </div>
      {open && (
        <div class="opened">
          <Form
            key={open.name}
            operation={open}
            known={pathInput(open, values)}
            present={isChange(open, kind) ? row : undefined}
            onStale={onDone}
            onDone={finish(open)}
          />
        </div>
      )}
    </>
  )
}

/** Returns true if the operation needs input besides the path. */
function asks(operation: Operation): boolean {
  return fieldsOf(operation).some(
    ([name]) => !pathFields(operation).includes(name) && (name !== "expected_revision" || isRequired(operation, name)),
  )
}

/** Returns true if the response has fields besides the resource, such as a secret or a result. */
function hasDetails({ method, output }: Operation, { reader, list }: Kind): boolean {
  const fields = (reader ?? list)?.output ?? {}
  return method !== "DELETE" && reader !== undefined && Object.keys(output).some((name) => !(name in fields))
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
    <OperationButton operation={operation.name} input={pathInput(operation, values)} isDangerous={isDangerous} onDone={onDone} {...ask}>
      {verbOf(operation)}
    </OperationButton>
  )
}

/** A folded form below a list for adding an item. */
export function Adding({ operation, values, onDone }: ActionArgs) {
  return (
    <details>
      <summary>{verbOf(operation)}</summary>
      <Form operation={operation} known={pathInput(operation, values)} onDone={onDone} />
    </details>
  )
}
