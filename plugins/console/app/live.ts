// A channel of live updates as a part of the page uses it: one connection for all, which is loaded with the first of them.
// After a loss it goes on where it was, and says how many messages came late.
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import type { Live, LiveFilter, LiveMessage, Subscription } from "#client"
import { isSignedOut, onSignOut } from "./api.ts"
import { inBackground, reportLost } from "./connection.ts"

type Connection = Live

interface Listener {
  readonly hand: (message: LiveMessage) => void
  readonly gap: () => void
  readonly refused: (message: string) => void
}

interface LiveFeed {
  readonly listeners: Set<Listener>
  subscription: Subscription | undefined
}

const feeds = new Map<string, LiveFeed>()
const connectionListeners = new Set<(isConnected: boolean) => void>()
let connection: Promise<Connection> | undefined
let open: Connection | undefined

function connect(): Promise<Connection> {
  connection ??= import("#client/live").then(({ connectLive }) => {
    open = connectLive({
      url: location.origin,
      onState(state) {
        if (state === "connecting") reportLost("The connection to the service is lost; trying again.")
        for (const tell of connectionListeners) tell(state === "connected")
      },
    })
    return open
  })
  return connection
}

function listen(channel: string, filter: LiveFilter, listener: Listener): () => void {
  const key = JSON.stringify([channel, filter])
  const existing = feeds.get(key)
  const feed: LiveFeed = existing ?? { listeners: new Set(), subscription: undefined }
  feed.listeners.add(listener)
  if (!existing) {
    feeds.set(key, feed)
    inBackground(
      connect().then((live) => {
        if (feeds.get(key) !== feed) return
        const all = () => [...feed.listeners]
        feed.subscription = live.subscribe(channel, (message) => all().forEach((target) => void target.hand(message)), {
          filter,
          onGap: () => all().forEach((target) => void target.gap()),
          onError: (error) => all().forEach((target) => void target.refused(error.message)),
        })
        // What came between reading and this is in no message. Refusals are told above.
        feed.subscription.ready.then(
          () => all().forEach((target) => void target.gap()),
          () => undefined,
        )
      }),
    )
  }
  return () => {
    feed.listeners.delete(listener)
    if (feed.listeners.size > 0) return
    feeds.delete(key)
    feed.subscription?.close()
  }
}

onSignOut(() => {
  open?.close()
  connection = undefined
  open = undefined
  feeds.clear()
})

export interface LiveState {
  readonly isConnected: boolean
  /** How many messages came late, after the connection had been lost. */
  readonly caughtUp: number
  /** Why the channel is not for this session; empty otherwise. */
  readonly problem: string
}

export interface LiveHandlers {
  /** What the data of messages must hold; the channel says by which fields it can be filtered. */
  readonly filter?: LiveFilter
  readonly onMessage: (message: LiveMessage) => void
  /** What is shown should be read again: it was read before this listened, or more was missed than the service keeps. */
  readonly onGap?: () => void
}

/** Undefined in place of a channel listens to nothing. */
export function useLive(channel: string | undefined, handlers: LiveHandlers): LiveState {
  const state = useSignal<LiveState>({ isConnected: false, caughtUp: 0, problem: "" })
  const now = useRef(handlers)
  now.current = handlers
  const filter = JSON.stringify(handlers.filter ?? {})
  useEffect(() => {
    if (channel === undefined || isSignedOut.value) return
    let lostOnce = false
    let backAt = Number.POSITIVE_INFINITY
    const tell = (isConnected: boolean) => {
      if (!isConnected) lostOnce = true
      backAt = isConnected && lostOnce ? Date.now() : Number.POSITIVE_INFINITY
      state.value = { ...state.value, isConnected, caughtUp: isConnected ? 0 : state.value.caughtUp }
    }
    connectionListeners.add(tell)
    const leave = listen(channel, JSON.parse(filter) as LiveFilter, {
      hand(message) {
        if (Date.parse(message.at) < backAt && lostOnce && Number.isFinite(backAt))
          state.value = { ...state.value, caughtUp: state.value.caughtUp + 1 }
        now.current.onMessage(message)
      },
      gap: () => now.current.onGap?.(),
      refused: (problem) => {
        state.value = { ...state.value, problem }
      },
    })
    return () => {
      connectionListeners.delete(tell)
      leave()
    }
  }, [channel, filter, isSignedOut.value])
  return state.value
}
