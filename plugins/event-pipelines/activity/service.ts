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

/** A minute holds counts of every pipeline: a day of 500 is 36 MB. */
const minutesAtOnce = 120

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
      const counted: MinuteCounts[] = []
      for (let from = now - minutes; from < now; from += minutesAtOnce) {
        const filter = { minute: { $gt: from, $lte: Math.min(now, from + minutesAtOnce) } }
        counted.push(...(await store.open(EventMinutes, organization).find(filter, { sort: { minute: 1 }, limit: minutesAtOnce })))
      }
      return { now, counted }
    },
  }
}
