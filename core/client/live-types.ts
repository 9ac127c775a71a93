// The public types of live updates: a connection, its subscriptions, and messages.
import type { ClientError } from "./error.ts"

/** A message of a channel. */
export interface LiveMessage<Data = unknown, Name extends string = string> {
  readonly id: string
  readonly channel: Name
  readonly event: string
  readonly data: Data
  /** RFC 3339. */
  readonly at: string
}

/** The options of a live connection. */
export interface LiveOptions {
  /** Base address of the service: `https://api.example.com`. */
  readonly url: string
  /**
   * A key or token with the scope `live:subscribe`, a viewer's token (with `endpointId`), or a function that returns it. The
   * function runs for each connection, and again after a failure. A permanent ClientError, such as `unauthenticated`, ends the
   * live updates.
   */
  readonly token?: string | (() => string | Promise<string>) | undefined
  /** UUID or slug; default: the token's own organization. */
  readonly organization?: string
  /** Public channels of this endpoint, without a token or with a viewer's token. */
  readonly endpointId?: string
  /** Wait before the first reconnect, in milliseconds; default 250. Doubles up to 10 s, with jitter. */
  readonly reconnectMs?: number
  readonly onState?: (state: "connected" | "connecting" | "closed") => void
}

/** Required values in the data of messages, by field. */
export type LiveFilter = Readonly<Record<string, string | number | boolean>>

/** The options of a subscription: filter, start, and callbacks for gaps and the end. */
export interface SubscribeOptions {
  /** Only messages with these values in their data, such as `{ status: "failed" }`. Each channel documents its filter fields. */
  readonly filter?: LiveFilter
  /** The `position()` of an earlier subscription, or the id of the last message seen. */
  readonly after?: string
  /** Called if the service no longer has the missed messages. Reload the displayed data. */
  readonly onGap?: () => void
  /** Called at the end of the subscription: the credential is invalid, or the channel is out of reach. */
  readonly onError?: (error: ClientError) => void
}

/** An open subscription of a channel. */
export interface Subscription {
  /** Resolves once no further message can be missed. Rejects if the subscription is refused. */
  readonly ready: Promise<void>
  /** Returns the position for a later `after`, for example after a page reload. Empty before the first message or `ready`. */
  position(): string
  close(): void
}

/** A live connection that reconnects after losses. */
export interface Live<Channels extends object = Record<string, unknown>> {
  /**
   * Calls `onMessage` once for each message, in the order of arrival. Messages committed by one node arrive in commit order.
   * Messages of two nodes can change places, since each node sends after its own commit. Sort by `id` if the order matters. Each
   * channel and filter can have one subscription.
   */
  subscribe<Name extends keyof Channels & string>(
    channel: Name,
    onMessage: (message: LiveMessage<Channels[Name], Name>) => void,
    options?: SubscribeOptions,
  ): Subscription
  close(): void
}
