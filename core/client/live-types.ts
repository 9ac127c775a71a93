// What users of live updates see: a connection, its subscriptions, and the messages that they are handed.
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

/** Which service, and who listens. */
export interface LiveOptions {
  /** Where the service is: `https://api.example.com`. */
  readonly url: string
  /**
   * A key or token with the scope `live:subscribe`, or, beside `endpointId`, a viewer's token; or what gives one; asked for with each connection, and again where that
   * fails. A ClientError that trying again cannot help, such as `unauthenticated`, ends the live updates.
   */
  readonly token?: string | (() => string | Promise<string>) | undefined
  /** UUID or slug; the token's own unless given. */
  readonly organization?: string
  /** Public channels of this endpoint: without a token, or with that of a viewer. */
  readonly endpointId?: string
  /** Wait before the first try to connect again; doubles up to 10 s, with jitter. 250 unless given. */
  readonly reconnectMs?: number
  readonly onState?: (state: "connected" | "connecting" | "closed") => void
}

/** What the data of messages must hold, field by field. */
export type LiveFilter = Readonly<Record<string, string | number | boolean>>

/** Which messages are wanted, where a subscription begins, and who is told of gaps and of its end. */
export interface SubscribeOptions {
  /** Only messages whose data holds these values, such as `{ status: "failed" }`. By which fields a channel can be filtered, the channel says. */
  readonly filter?: LiveFilter
  /** Where an earlier subscription stood (its `position()`), or the id of the last message seen. */
  readonly after?: string
  /** More was missed than the service keeps: what is shown should be read again. */
  readonly onGap?: () => void
  /** The subscription has ended: the credential no longer counts, or the channel is out of reach. */
  readonly onError?: (error: ClientError) => void
}

/** A channel that is listened to, until it is ended. */
export interface Subscription {
  /** Settles with the first subscription: from then on nothing is missed. Rejects where it is refused. */
  readonly ready: Promise<void>
  /** To go on from elsewhere, after a page was loaded again, say. Empty before the first message or `ready`. */
  position(): string
  close(): void
}

/** A connection for live updates, kept up through losses. */
export interface Live<Channels extends object = Record<string, unknown>> {
  /**
   * Calls `onMessage` once for each message, in the order of arrival. Messages that one node committed arrive in the order of
   * their commits. Messages of two nodes can change places: each node sends after its own commit. Sort by `id` if that
   * matters. One subscription a channel and filter. */
  subscribe<Name extends keyof Channels & string>(
    channel: Name,
    onMessage: (message: LiveMessage<Channels[Name], Name>) => void,
    options?: SubscribeOptions,
  ): Subscription
  close(): void
}
