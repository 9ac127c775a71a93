// What is pressed: copying, asking before what cannot be taken back, and one operation as a button.
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

/** Pages that came by plain HTTP from another machine are given no clipboard: there a selected text is copied. */
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
/** What the dialog was opened for last. A browser tells that it was closed a while after, when the next may be asked. */
let shownQuestion: PendingQuestion | undefined

/** Asks, and says whether the answer was yes; Escape is no. */
export function confirmed({ title, text = "", verb = "Go on", isDangerous = false }: Partial<Question> & { title: string }) {
  return new Promise<boolean>((answer) => {
    question.value?.answer(false)
    question.value = { title, text, verb, isDangerous, answer }
  })
}

/** Stands once in the frame. */
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
  /** Asked first, where given. */
  readonly ask?: string
  /** What is said beside the question. */
  readonly about?: string
  readonly isDangerous?: boolean
  readonly onDone?: (answer: Row) => void
}

/** One operation as a button; not there for who may not call it. What it is refused with stands beside it. */
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
