// Calls with changes, safe against a lost response. Until the service has answered, a repeated call uses the same idempotency
// key, for any number of button presses.
import { type Signal, signal, useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import type { ClientError, Operations } from "#client"
import { call, type Output, type Row } from "./api.ts"

interface Open {
  readonly text: string
  readonly key: string
}

export interface Submission<T> {
  readonly isBusy: boolean
  readonly answer: T | undefined
  readonly error: ClientError | undefined
  /** Returns undefined after a failure, or while another call is in progress. */
  readonly submit: (input: object) => Promise<T | undefined>
}

/** `preset`: the current input. With it, the page shows the matching command and request. */
export function useSubmit<Name extends keyof Operations>(name: Name, preset?: Row): Submission<Output<Name>>
export function useSubmit<T = Row>(name: string, preset?: Row): Submission<T>
export function useSubmit<T>(name: string, preset?: Row): Submission<T> {
  useEffect(() => offer({ name, known: preset }), [name, JSON.stringify(preset)])
  const open = useRef<Open | undefined>(undefined)
  const state = useSignal<{ readonly isBusy: boolean; readonly answer?: T; readonly error?: ClientError }>({ isBusy: false })
  const submit = async (input: object): Promise<T | undefined> => {
    if (state.value.isBusy) return undefined
    const text = JSON.stringify([name, input])
    if (open.current?.text !== text) open.current = { text, key: crypto.getRandomValues(new BigUint64Array(2)).join("-") }
    state.value = { isBusy: true }
    try {
      const answer = await call<T>(name, input, { idempotencyKey: open.current.key })
      open.current = undefined
      state.value = { isBusy: false, answer }
      return answer
    } catch (cause) {
      const error = cause as ClientError
      const isUnknown = error.code === "unavailable" || error.code === "deadline_exceeded" || error.code === "canceled"
      if (!isUnknown) open.current = undefined
      state.value = { isBusy: false, error }
      return undefined
    }
  }
  const { isBusy, answer, error } = state.value
  return { isBusy, answer, error, submit }
}

interface Offered {
  readonly name: string
  readonly known: Row | undefined
}

/** Possible changes on this page. */
export const offered: Signal<readonly Offered[]> = signal([])

/** The document element lists the operations too, for checks against the role. */
function offer(entry: Offered): () => void {
  const tell = (entries: readonly Offered[]) => {
    offered.value = entries
    document.documentElement.dataset["offers"] = [...new Set(entries.map(({ name }) => name))].join(" ")
  }
  tell([...offered.peek(), entry])
  return () => tell(offered.peek().filter((candidate) => candidate !== entry))
}
