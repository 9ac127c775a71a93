// One subscription as its connection holds it: what it is to, and what came while it catches up.
import type { ClientError } from "./error.ts"
import type { LiveFilter, LiveMessage, SubscribeOptions } from "./live-types.ts"
import type { Position } from "./position.ts"

/** A subscription of a connection for live updates. */
export interface Held {
  /** Of channel and filter. */
  readonly key: string
  readonly of: { readonly channel: string; readonly filter?: LiveFilter }
  readonly options: SubscribeOptions
  readonly position: Position
  readonly hand: (message: LiveMessage) => void
  readonly ready: () => void
  readonly refuse: (error: ClientError) => void
  /** The connection it was last asked for on. */
  asked: string | undefined
  /** Until the service has answered, what comes meanwhile: new messages can overtake old ones there, and are put in order first. */
  catching: LiveMessage[] | undefined
}

/** In any order of the fields. */
export function keyOf({ channel, filter = {} }: Held["of"]): string {
  return JSON.stringify([channel, ...Object.entries(filter).sort(([one], [other]) => (one < other ? -1 : 1))])
}

export function passes(filter: LiveFilter = {}, data: unknown): boolean {
  const fields = data as Readonly<Record<string, unknown>> | null
  return Object.entries(filter).every(([field, value]) => fields?.[field] === value)
}

/** What came while it caught up. */
export function endCatching(one: Held): LiveMessage[] {
  const caught = one.catching ?? []
  one.catching = undefined
  return caught
}

export function handInOrder({ position, hand }: Held, messages: LiveMessage[]): void {
  for (const message of messages.sort((a, b) => (a.id < b.id ? -1 : 1))) if (position.take(message)) hand(message)
}
