// Calls that change something, made so that a lost answer never means twice: until the service has answered, the same call
// goes out under the same idempotency key, however often somebody presses the button.
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import type { ClientError } from "#client"
import { call, type Row } from "./api.ts"

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

export function useSubmit<T = Row>(name: string): Submission<T> {
  useEffect(() => offer(name), [name])
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

const offered: string[] = []

/** Says in the document what this place can change: none of it may be more than the role allows. */
function offer(name: string): () => void {
  const tell = () => {
    document.documentElement.dataset["offers"] = [...new Set(offered)].join(" ")
  }
  offered.push(name)
  tell()
  return () => {
    offered.splice(offered.indexOf(name), 1)
    tell()
  }
}
