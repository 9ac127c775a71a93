// Calls that change something, made so that a lost answer never means twice: until the service has answered, the same call
// goes out under the same idempotency key, however often somebody presses the button.
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
  /** Undefined where it failed, or another one is on its way. */
  readonly submit: (input: object) => Promise<T | undefined>
}

/** `known`: what it would be called with now; the place then says how the same is done without it. */
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

/** What this place can change. */
export const offered: Signal<readonly Offered[]> = signal([])

/** The document says it too: none of it may be more than the role allows. */
function offer(entry: Offered): () => void {
  const tell = (entries: readonly Offered[]) => {
    offered.value = entries
    document.documentElement.dataset["offers"] = [...new Set(entries.map(({ name }) => name))].join(" ")
  }
  tell([...offered.peek(), entry])
  return () => tell(offered.peek().filter((candidate) => candidate !== entry))
}
