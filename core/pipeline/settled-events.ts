// Where a plugin looks at events that have ended, whichever way they came in, refused and failed ones as well: to count, not
// to change. What is seen here is not part of the event's commit.
import { token } from "../kernel/di.ts"
import type { Logger } from "../kernel/log.ts"
import type { JournalEntry } from "./journal/entry.ts"
import type { StoredPipeline } from "./source.ts"

/** An event that has ended. */
export interface SettledEvent {
  readonly stored: StoredPipeline
  readonly entry: JournalEntry
  /** Of the entry that tells of it: its own, or the one that it was counted in. */
  readonly journalId: string
  /** Its body as JSON text, as pipelines see it; "" where it ended before it was read. */
  readonly visible: { readonly body: string }
  readonly isTest: boolean
  readonly isReplay: boolean
  /** False where a plugin took it whole, and its parts were journalled instead. */
  readonly isCounted: boolean
  /** The client's address; undefined for an event that did not come to an endpoint of its own. */
  readonly addressOf: (() => string) | undefined
}

/** Called before the sender is answered, for every event: returns at once. */
export type SettledEventObserver = (event: SettledEvent) => void

/** The observers that plugins add. */
export interface SettledEvents {
  /** To be called while services are created. */
  use(observer: SettledEventObserver): void
  notify(event: SettledEvent): void
}

export const SettledEvents = token<SettledEvents>("SettledEvents")

/** An observer that throws spoils no event. */
export function createSettledEvents(log: Logger): SettledEvents {
  const observers: SettledEventObserver[] = []
  return {
    use: (observer) => observers.push(observer),
    notify(event) {
      for (const observer of observers) {
        try {
          observer(event)
        } catch (error) {
          log.error({ err: error, execution: event.entry.id }, "an observer of events failed")
        }
      }
    },
  }
}
