// Events as they come: the list is read again, by the service's own filters, when one of them was journalled; while the list
// is held, those that came are counted.
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { type LiveState, useLive } from "#console"

export interface Filter {
  readonly pipeline?: string
  readonly status?: string
  readonly cause?: string
  readonly is_test?: boolean
  readonly since?: string
  readonly until?: string
}

interface Announced {
  readonly id: string
  readonly pipeline: string
  readonly pipeline_id: string
  readonly status: string
  readonly cause: string
  readonly is_test: boolean
  readonly received_at: string
}

export interface Arrivals {
  readonly isHeld: boolean
  /** How many came while the list is held; none of them is lost. */
  readonly held: number
  readonly live: LiveState
  readonly hold: () => void
  readonly goOn: () => void
}

const reloadMs = 700
/** More are not told apart; the list has them all the same. */
export const maxHeld = 10_000

/** `isLive`: off on later pages, which stay as they are. */
export function useArrivals(filter: Filter, isLive: boolean, reload: () => void): Arrivals {
  const isHeld = useSignal(false)
  const held = useSignal(0)
  const heldIds = useRef(new Set<string>())
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const soon = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      if (!isHeld.peek()) reload()
    }, reloadMs)
  }
  const clear = () => {
    heldIds.current.clear()
    held.value = 0
  }
  const key = JSON.stringify(filter)
  useEffect(() => {
    isHeld.value = false
    clear()
    return () => {
      clearTimeout(timer.current)
      timer.current = undefined
    }
  }, [key, isLive])
  const live = useLive(isLive ? "executions" : undefined, {
    onMessage({ data }) {
      const event = data as unknown as Announced
      if (!matches(event, filter)) return
      if (!isHeld.peek()) return soon()
      if (heldIds.current.size < maxHeld) heldIds.current.add(event.id)
      held.value = heldIds.current.size
    },
    onGap: soon,
  })
  return {
    isHeld: isHeld.value,
    held: held.value,
    live,
    hold() {
      isHeld.value = true
    },
    goOn() {
      isHeld.value = false
      clear()
      reload()
    },
  }
}

function matches(event: Announced, { pipeline, status, cause, is_test, since, until }: Filter): boolean {
  const at = Date.parse(event.received_at)
  return (
    (pipeline === undefined || event.pipeline === pipeline || event.pipeline_id === pipeline) &&
    (status === undefined || event.status === status) &&
    (cause === undefined || event.cause === cause) &&
    (is_test === undefined || event.is_test === is_test) &&
    (since === undefined || at >= Date.parse(since)) &&
    (until === undefined || at < Date.parse(until))
  )
}
