// One subscription of a connection: its channel and filter, and the messages received while it catches up.
import type { ClientError } from "./error.ts"
import type { LiveFilter, LiveMessage, SubscribeOptions } from "./live-types.ts"
import type { Position } from "./position.ts"

/** A subscription of a connection for live updates. */
export interface Held {
  /** Identifies channel and filter. */
  readonly key: string
  readonly of: { readonly channel: string; readonly filter?: LiveFilter }
  readonly options: SubscribeOptions
  readonly position: Position
  readonly hand: (message: LiveMessage) => void
  readonly ready: () => void
  readonly refuse: (error: ClientError) => void
  /** Id of the connection of its last subscribe request. */
  asked: string | undefined
  /**
   * Messages received before the service's answer. New messages can overtake old ones, so they are sorted first. Undefined after
   * the answer.
   */
  catching: LiveMessage[] | undefined
}

/** Independent of the order of fields. */
export function keyOf({ channel, filter = {} }: Held["of"]): string {
  return JSON.stringify([channel, ...Object.entries(filter).sort(([one], [other]) => (one < other ? -1 : 1))])
}

export function passes(filter: LiveFilter = {}, data: unknown): boolean {
  const fields = data as Readonly<Record<string, unknown>> | null
  return Object.entries(filter).every(([field, value]) => fields?.[field] === value)
}

/** Ends the catch-up and returns the messages received during it. */
export function endCatching(one: Held): LiveMessage[] {
  const caught = one.catching ?? []
  one.catching = undefined
  return caught
}

export function handInOrder({ position, hand }: Held, messages: LiveMessage[]): void {
  for (const message of messages.sort((a, b) => (a.id < b.id ? -1 : 1))) if (position.take(message)) hand(message)
}
