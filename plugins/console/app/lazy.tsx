// Loads a part's script on first display. After a failure the page reloads when the service is back; the URL restores the view.
import { useSignal } from "@preact/signals"
import type { ComponentType } from "preact"
import { useEffect } from "preact/hooks"
import { connectionProblem, reportLost, returns } from "./connection.ts"
import type { VirtualTableArgs } from "./virtual-table-rows.tsx"

interface LazyArgs<Props> {
  readonly load: () => Promise<{ readonly default: ComponentType<Props> }>
  readonly props: Props
  /** Renders empty until the part is loaded. */
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

/** A table with rendering of visible rows only. Its script loads on first display, because most screens have no virtual table. */
export function VirtualTable<T>(props: VirtualTableArgs<T>) {
  return <Lazy load={load as () => Promise<{ readonly default: ComponentType<VirtualTableArgs<T>> }>} props={props} />
}
