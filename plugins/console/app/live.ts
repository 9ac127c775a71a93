// Live channels for parts of the page. All channels share one connection, loaded with the first channel. After a loss the channel
// resumes and reports the number of late messages.
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
        // Messages between the read and the subscription are lost, so listeners reload. Refusals are reported above.
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
  /** Number of late messages after a lost connection. */
  readonly caughtUp: number
  /** Reason for a refused channel; empty otherwise. */
  readonly problem: string
}

export interface LiveHandlers {
  /** Filter on message data. The channel declares its filter fields. */
  readonly filter?: LiveFilter
  readonly onMessage: (message: LiveMessage) => void
  /** Called for a reload: the data is older than the subscription, or missed messages have expired. */
  readonly onGap?: () => void
}

/** An undefined channel opens no subscription. */
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
