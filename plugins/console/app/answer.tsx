// Loads the response of an operation for a part of the page. Reloads after a change of the input, after the service returns, and
// optionally at an interval.
import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import type { ClientError, Operations } from "#client"
import { call, isSignedOut, type Output, type Row } from "./api.ts"
import { connectionProblem, returns } from "./connection.ts"
import { escapeBidi } from "./foreign.tsx"
import { withOwnTimes } from "./show.tsx"

export interface Answer<T> {
  /** Latest response. Stays during a reload and after a failure. */
  readonly answer: T | undefined
  /** Error message of the service. Empty while the service is unreachable: the frame shows this case. */
  readonly problem: string | undefined
  readonly error: ClientError | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

export interface AnswerOptions {
  /** Reload interval in milliseconds. Pauses while the page is hidden. */
  readonly everyMs?: number
}

interface State<T> {
  readonly answer?: T | undefined
  readonly error?: ClientError | undefined
  /** Name and input of the request. */
  readonly key?: string
}

/** An undefined name sends no request. The response has the type of the operation's schema. */
export function useAnswer<Name extends keyof Operations>(
  name: Name | undefined,
  input?: object,
  options?: AnswerOptions,
): Answer<Output<Name>>
/** For computed names and operations of a project. */
export function useAnswer<T = Row>(name: string | undefined, input?: object, options?: AnswerOptions): Answer<T>
export function useAnswer<T>(name: string | undefined, input: object = {}, { everyMs }: AnswerOptions = {}): Answer<T> {
  const state = useSignal<State<T>>({})
  const reloads = useSignal(0)
  const isLoading = useSignal(true)
  const key = JSON.stringify([name, input])
  useEffect(() => {
    if (name === undefined) return
    const controller = new AbortController()
    isLoading.value = true
    call<T>(name, input, { signal: controller.signal })
      .then(
        (answer) => {
          if (!controller.signal.aborted) state.value = { answer, key }
        },
        (error: ClientError) => {
          if (controller.signal.aborted) return
          const previous = state.value.key === key ? state.value.answer : undefined
          state.value = { answer: previous, error, key }
        },
      )
      .finally(() => {
        if (!controller.signal.aborted) isLoading.value = false
      })
    return () => controller.abort()
  }, [key, reloads.value, returns.value])
  useEffect(() => {
    if (everyMs === undefined || name === undefined) return
    const timer = setInterval(() => {
      if (!document.hidden && connectionProblem.value === "" && !isSignedOut.value && !isLoading.value) reloads.value++
    }, everyMs)
    return () => clearInterval(timer)
  }, [key, everyMs])
  const { answer, error } = state.value.key === key ? state.value : {}
  return {
    answer,
    error,
    problem: error && (error.code === "unavailable" ? "" : error.message),
    isLoading: name !== undefined && isLoading.value,
    reload: () => void reloads.value++,
  }
}

/** Shows the response, a loading note or the error. */
export function Answered<T>({ of, children }: { readonly of: Answer<T>; readonly children: (answer: T) => ComponentChildren }) {
  return (
    <>
      {of.problem && <Problem text={of.problem} />}
      {of.answer === undefined && !of.error && (
        <p role="status" class="about">
          Loading
        </p>
      )}
      {of.answer !== undefined && children(of.answer)}
    </>
  )
}

export function Problem({ text }: { readonly text: string }) {
  return (
    <p role="alert" class="problem">
      {escapeBidi(withOwnTimes(text))}
    </p>
  )
}

/** Placeholder of an empty list, with advice. */
export function Nothing({ children }: { readonly children: ComponentChildren }) {
  return <p class="nothing">{children}</p>
}
