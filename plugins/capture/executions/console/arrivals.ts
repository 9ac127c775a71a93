// Live updates of the event list. The service announces events that match the filter, and the list is read again. While the list
// is paused, new events are counted.
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
  readonly pipeline_id: string
  readonly received_at: string
}

export interface Arrivals {
  readonly isHeld: boolean
  /** Number of events received during a pause. The list shows all of them after the pause. */
  readonly held: number
  /** True if more events arrived than were counted. */
  readonly hasMore: boolean
  readonly live: LiveState
  readonly hold: () => void
  readonly goOn: () => void
}

const reloadMs = 700
/** Bound of the count. The list still shows events above this number. */
const maxHeld = 10_000
const uuid = /^[0-9a-f-]{36}$/i

/** `isLive` is false on later pages: they do not update. */
export function useArrivals(filter: Filter, isLive: boolean, reload: () => void): Arrivals {
  const isHeld = useSignal(false)
  const held = useSignal(0)
  const hasMore = useSignal(false)
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
    hasMore.value = false
  }
  useEffect(() => {
    isHeld.value = false
    clear()
    return () => {
      clearTimeout(timer.current)
      timer.current = undefined
    }
  }, [JSON.stringify(filter), isLive])
  const live = useLive(isLive ? "executions" : undefined, {
    filter: announcedBy(filter),
    onMessage({ data }) {
      const event = data as unknown as Announced
      if (!isOfFilter(event, filter)) return
      if (!isHeld.peek()) return soon()
      if (heldIds.current.size < maxHeld) heldIds.current.add(event.id)
      else if (!heldIds.current.has(event.id)) hasMore.value = true
      held.value = heldIds.current.size
    },
    onGap() {
      if (isHeld.peek()) hasMore.value = true
      else soon()
    },
  })
  return {
    isHeld: isHeld.value,
    held: held.value,
    hasMore: hasMore.value,
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

/** Returns the part of the filter that the service applies to announcements. */
function announcedBy({ pipeline, status, cause, is_test }: Filter) {
  return {
    ...(pipeline !== undefined && !uuid.test(pipeline) && { pipeline }),
    ...(status !== undefined && { status }),
    ...(cause !== undefined && { cause }),
    ...(is_test !== undefined && { is_test }),
  }
}

/** Applies the rest of the filter: the times, and a pipeline named by its ID. The service does not filter announcements by these. */
function isOfFilter(event: Announced, { pipeline, since, until }: Filter): boolean {
  const at = Date.parse(event.received_at)
  return (
    (pipeline === undefined || !uuid.test(pipeline) || event.pipeline_id === pipeline.toLowerCase()) &&
    (since === undefined || at >= Date.parse(since)) &&
    (until === undefined || at < Date.parse(until))
  )
}
