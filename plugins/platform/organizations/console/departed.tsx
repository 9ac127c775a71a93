// Resources of a removed person: paused, each with a button for taking it over.
import { useSignal } from "@preact/signals"
import { OperationButton, UntrustedText } from "#console"

export interface Leftover {
  readonly kind: string
  readonly id: string
  readonly name: string
  readonly operation: string
}

export interface Departure {
  readonly name: string
  readonly ended_keys: number
  readonly left: readonly Leftover[]
}

export function Departed({ of: { name, ended_keys, left } }: { readonly of: Departure }) {
  return (
    <section aria-label="Removed" class="chosen">
      <h2>
        <UntrustedText text={name} /> was removed
      </h2>
      <p role="status">
        {ended_keys === 0 ? "The person had no keys here." : `${ended_keys} ${ended_keys === 1 ? "key" : "keys"} ended.`}{" "}
        {left.length === 0 ? "Nothing paused." : "These paused. Take over what should continue."}
      </p>
      <ul class="lines">
        {left.map((leftover) => (
          <TakeOver key={leftover.id} of={leftover} />
        ))}
      </ul>
    </section>
  )
}

function TakeOver({ of: { kind, id, name, operation } }: { readonly of: Leftover }) {
  const isDone = useSignal(false)
  return (
    <li>
      {kind} <UntrustedText text={name} />{" "}
      {isDone.value ? (
        "is yours now."
      ) : (
        <OperationButton operation={operation} input={{ id }} onDone={() => (isDone.value = true)}>
          Take over
        </OperationButton>
      )}
    </li>
  )
}
