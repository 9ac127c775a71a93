// A form of one field, or a button alone, for the sign-in.
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { inBackground } from "./connection.ts"
import { withOwnTimes } from "./show.tsx"

interface FormProps {
  readonly name: string
  readonly button: string
  /** Without a label the form is a button. */
  readonly label?: string
  readonly field: string
  readonly type?: "email" | "password" | "text"
  readonly complete?: string
  readonly isFirst?: boolean
  readonly isPlain?: boolean
  /** Returns the problem; empty on success. */
  readonly send: (value: string) => Promise<string>
}

export function Form({ name, button, label, field, type = "text", complete = "off", isFirst, isPlain, send }: FormProps) {
  const problem = useSignal("")
  const isBusy = useSignal(false)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isFirst) input.current?.focus()
  }, [])
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBusy.value) return
    const value = String(new FormData(event.currentTarget as HTMLFormElement).get(field) ?? "").trim()
    isBusy.value = true
    problem.value = label !== undefined && value === "" ? `Fill in: ${label}.` : await send(value)
    isBusy.value = false
    if (problem.value !== "") input.current?.select()
  }
  return (
    <form onSubmit={(event) => inBackground(submit(event))} aria-label={name} noValidate>
      {label !== undefined && (
        <>
          <label for={field}>{label}</label>
          <input
            ref={input}
            id={field}
            name={field}
            type={type as "text"}
            autocomplete={complete}
            aria-invalid={problem.value !== ""}
            aria-describedby={`${field}-problem`}
          />
        </>
      )}
      <p id={`${field}-problem`} role="alert" class="problem">
        {withOwnTimes(problem.value)}
      </p>
      <button type="submit" class={isPlain ? "" : "primary"} aria-disabled={isBusy.value}>
        {button}
      </button>
    </form>
  )
}
