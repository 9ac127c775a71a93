// A part whose script is loaded when it is shown. One that cannot be loaded is asked for again with the page, once the
// service is back: what was shown is in the address.
import { useSignal } from "@preact/signals"
import type { ComponentType } from "preact"
import { useEffect } from "preact/hooks"
import { connectionProblem, reportLost, returns } from "./connection.ts"
import type { VirtualTableArgs } from "./virtual-table-rows.tsx"

interface LazyArgs<Props> {
  readonly load: () => Promise<{ readonly default: ComponentType<Props> }>
  readonly props: Props
  /** Shows nothing until the part is loaded. */
  readonly isQuiet?: boolean
}

export function Lazy<Props extends object>({ load, props, isQuiet }: LazyArgs<Props>) {
  const state = useSignal<{ readonly part?: ComponentType<Props>; readonly failed?: true }>({})
  useEffect(() => {
    let isUnmounted = false
    load().then(
      (module) => {
        if (!isUnmounted) state.value = { part: module.default }
      },
      () => {
        if (isUnmounted) return
        state.value = { failed: true }
        reportLost("A part of the console could not be loaded.")
      },
    )
    return () => {
      isUnmounted = true
    }
  }, [load])
  const returned = returns.value
  useEffect(() => {
    if (state.value.failed && connectionProblem.value === "" && returned > 0) location.reload()
  }, [returned])
  const { part: Part, failed } = state.value
  if (Part) return <Part {...props} />
  if (isQuiet) return null
  return failed ? (
    <p role="alert">This part could not be loaded yet.</p>
  ) : (
    <p role="status" class="about">
      Loading
    </p>
  )
}

const load = () => import("./virtual-table-rows.tsx")

/** A table that draws the rows in sight. Its script is loaded when it is shown: most screens have no such table. */
export function VirtualTable<T>(props: VirtualTableArgs<T>) {
  return <Lazy load={load as () => Promise<{ readonly default: ComponentType<VirtualTableArgs<T>> }>} props={props} />
}
