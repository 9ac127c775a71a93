// What came in lately, over all nodes, as operations ask for it.
import { type Clock, type Store, token } from "#core"
import { EventMinutes } from "./collection.ts"
import type { ActivityCounter } from "./counter.ts"
import type { MinuteCounts } from "./counts.ts"

export interface EventActivity {
  /** Minutes that had events, the oldest first, and the minute that it is. */
  of(organization: string, minutes: number): Promise<{ readonly now: number; readonly counted: readonly MinuteCounts[] }>
}

export const EventActivity = token<EventActivity>("EventActivity")

interface ActivityDeps {
  readonly store: Store
  readonly clock: Clock
  readonly counter: ActivityCounter
}

export function eventActivity({ store, clock, counter }: ActivityDeps): EventActivity {
  return {
    async of(organization, minutes) {
      await counter.flush()
      const now = Math.floor(clock.now() / 60_000)
      const filter = { minute: { $gt: now - minutes, $lte: now } }
      const counted = await store.open(EventMinutes, organization).find(filter, { sort: { minute: 1 }, limit: minutes })
      return { now, counted }
    },
  }
}
