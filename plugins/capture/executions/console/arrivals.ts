// Events as they come: those that pass the list's filter are announced by the service, and the list is read again; while it is
// held, those that came are counted.
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
  /** How many came while the list is held; none of them is lost. */
  readonly held: number
  /** Whether more came than were counted. */
  readonly hasMore: boolean
  readonly live: LiveState
  readonly hold: () => void
  readonly goOn: () => void
}

const reloadMs = 700
/** More are not told apart; the list has them all the same. */
const maxHeld = 10_000
const uuid = /^[0-9a-f-]{36}$/i

/** `isLive`: off on later pages, which stay as they are. */
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

/** What the service filters announcements by. */
function announcedBy({ pipeline, status, cause, is_test }: Filter) {
  return {
    ...(pipeline !== undefined && !uuid.test(pipeline) && { pipeline }),
    ...(status !== undefined && { status }),
    ...(cause !== undefined && { cause }),
    ...(is_test !== undefined && { is_test }),
  }
}

/** What announcements are not filtered by: a time, and a pipeline that is named by its id. */
function isOfFilter(event: Announced, { pipeline, since, until }: Filter): boolean {
  const at = Date.parse(event.received_at)
  return (
    (pipeline === undefined || !uuid.test(pipeline) || event.pipeline_id === pipeline.toLowerCase()) &&
    (since === undefined || at >= Date.parse(since)) &&
    (until === undefined || at < Date.parse(until))
  )
}
