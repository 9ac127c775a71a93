// Buttons: copying, confirming irreversible actions, and calling one operation.
import { signal, useSignal } from "@preact/signals"
import { type ComponentChildren, createRef } from "preact"
import { useEffect } from "preact/hooks"
import type { Row } from "./api.ts"
import { inBackground } from "./connection.ts"
import { mayCall } from "./contributions.ts"
import { escapeBidi } from "./foreign.tsx"
import { useSubmit } from "./submit.ts"

export function Copy({ text, name = "" }: { readonly text: string; readonly name?: string }) {
  const message = useSignal("")
  const copy = async () => {
    message.value = (await isCopied(text)) ? "Copied" : "The browser does not copy: select it"
  }
  return (
    <button type="button" onClick={() => inBackground(copy())}>
      {message.value || `Copy ${name}`.trim()}
    </button>
  )
}

/** Plain HTTP pages of other machines have no clipboard. There the function copies a selected text. */
async function isCopied(text: string): Promise<boolean> {
  if ("clipboard" in navigator) {
    return await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const focused = document.activeElement as HTMLElement | null
  const area = document.createElement("textarea")
  area.value = text
  document.body.append(area)
  area.focus({ preventScroll: true })
  area.select()
  const isDone = document.execCommand("copy")
  area.remove()
  focused?.focus({ preventScroll: true })
  return isDone
}

interface Question {
  readonly title: string
  readonly text: string
  readonly verb: string
  readonly isDangerous: boolean
}

interface PendingQuestion extends Question {
  readonly answer: (yes: boolean) => void
}

const question = signal<PendingQuestion | undefined>(undefined)
const dialog = createRef<HTMLDialogElement>()
/** The latest question of the dialog. A browser reports the close late, possibly after the next question. */
let shownQuestion: PendingQuestion | undefined

/** Shows a question. Resolves to true for yes, to false for no or Escape. */
export function confirmed({ title, text = "", verb = "Go on", isDangerous = false }: Partial<Question> & { title: string }) {
  return new Promise<boolean>((answer) => {
    question.value?.answer(false)
    question.value = { title, text, verb, isDangerous, answer }
  })
}

/** Rendered once, in the frame. */
export function Confirmation() {
  const current = question.value
  useEffect(() => {
    if (!current) return dialog.current?.close()
    shownQuestion = current
    dialog.current?.showModal()
  }, [current])
  const say = (yes: boolean, target = current) => {
    target?.answer(yes)
    if (question.value === target) question.value = undefined
  }
  const onClose = () => {
    if (!dialog.current?.open) say(false, shownQuestion)
  }
  return (
    <dialog ref={dialog} class="confirmation" aria-labelledby="question" onClose={onClose}>
      <h2 id="question">{escapeBidi(current?.title ?? "")}</h2>
      {current?.text && <p>{escapeBidi(current.text)}</p>}
      <div class="verbs">
        <button type="button" onClick={() => say(false)}>
          Cancel
        </button>
        <button type="button" class={current?.isDangerous ? "danger" : "primary"} onClick={() => say(true)}>
          {current?.verb}
        </button>
      </div>
    </dialog>
  )
}

interface OperationButtonArgs {
  readonly operation: string
  readonly input: Row
  readonly children: ComponentChildren
  /** Confirmation question, if any. */
  readonly ask?: string
  /** Text beside the question. */
  readonly about?: string
  readonly isDangerous?: boolean
  readonly onDone?: (answer: Row) => void
}

/** A button for one operation. Hidden if the caller lacks the right. Errors appear beside it. */
export function OperationButton(args: OperationButtonArgs) {
  return mayCall(args.operation) ? <AllowedButton {...args} /> : null
}

function AllowedButton({ operation, input, children, ask, about = "", isDangerous = false, onDone }: OperationButtonArgs) {
  const { submit, isBusy, error } = useSubmit(operation, input)
  const press = async () => {
    const text = typeof children === "string" ? children : "Go on"
    if (ask !== undefined && !(await confirmed({ title: ask, text: about, verb: text, isDangerous }))) return
    const answer = await submit(input)
    if (answer) onDone?.(answer)
  }
  return (
    <span class="do">
      <button type="button" aria-disabled={isBusy} class={isDangerous ? "danger" : ""} onClick={() => inBackground(press())}>
        {children}
      </button>
      {error && (
        <span role="alert" class="problem">
          {error.message}
        </span>
      )}
    </span>
  )
}
