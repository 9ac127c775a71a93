// Reports ended events to plugins: accepted, rejected and failed events of every source. Observers run after the answer, so they
// never delay or fail an event. Their writes are separate from its commit.
import { token } from "../kernel/di.ts"
import type { Logger } from "../kernel/log.ts"
import type { JournalEntry } from "./journal/entry.ts"
import type { StoredPipeline } from "./source.ts"

/** An event that has ended. */
export interface SettledEvent {
  readonly stored: StoredPipeline
  readonly entry: JournalEntry
  /** Id of the journal entry. It is the event's own entry, or the entry that counts the event. */
  readonly journalId: string
  /** The body as JSON text, as pipelines see it; "" if the event ended before its body was read. */
  readonly visible: { readonly body: string }
  readonly isTest: boolean
  readonly isReplay: boolean
  /** False if a plugin accepted the whole event, and journalled its parts instead. */
  readonly isCounted: boolean
  /** The client's address; undefined for an event without an endpoint of its own. */
  readonly addressOf: (() => string) | undefined
}

/** Runs on the main thread, in the turn of the event loop after the answer. Returns at once. */
export type SettledEventObserver = (event: SettledEvent) => void

/** The observers that plugins add. */
export interface SettledEvents {
  /** Adds an observer, while services are created. */
  use(observer: SettledEventObserver): void
  /** Queues an event for the observers. The events in flight bound the queue. */
  notify(event: SettledEvent): void
  /** Passes the queued events to the observers now. Readers of counts call this first. */
  flush(): void
}

export const SettledEvents = token<SettledEvents>("SettledEvents")

/** Logs the error of an observer. The other observers and events continue. */
export function createSettledEvents(log: Logger): SettledEvents {
  const observers: SettledEventObserver[] = []
  let queue: SettledEvent[] = []
  let scheduled: NodeJS.Immediate | undefined
  const flush = () => {
    clearImmediate(scheduled)
    scheduled = undefined
    const events = queue
    queue = []
    for (const event of events) {
      for (const observer of observers) {
        try {
          observer(event)
        } catch (error) {
          log.error({ err: error, execution: event.entry.id }, "an observer of events failed")
        }
      }
    }
  }
  return {
    use: (observer) => observers.push(observer),
    notify(event) {
      if (observers.length === 0) return
      queue.push(event)
      scheduled ??= setImmediate(flush)
    },
    flush,
  }
}
