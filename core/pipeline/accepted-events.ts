// Lets a plugin add writes to the commit of an accepted event. The event and the staged writes reach the disk together or not at
// all, for every source. Hooks do not run for refused, failed, repeated or dropped events.
import type { Json } from "../contract/collection.ts"
import type { Envelope } from "../contract/envelope.ts"
import type { UnitOfWork } from "../contract/unit-of-work.ts"
import { token } from "../kernel/di.ts"
import type { StoredPipeline } from "./source.ts"
import type { Headers } from "./stamp/stamp.ts"

/** An accepted event before its commit. */
export interface AcceptedEvent {
  /** A replay and a recognised repeat of the event have the same identity. */
  readonly identity: string
  /** RFC 3339. A replay has the time of the first execution. */
  readonly receivedAt: string
  readonly envelope: Envelope
  /** Names are in lower case. A replay has the stored headers of the first execution. */
  readonly rawHeaders: Headers
  readonly stamp: Readonly<Record<string, Json>>
}

/**
 * Stages writes for an accepted event. Runs for every event of every pipeline. Returns undefined immediately if the event is not
 * relevant. A thrown error refuses the event.
 */
export type AcceptedEventHook = (work: UnitOfWork, pipeline: StoredPipeline, event: AcceptedEvent) => Promise<void> | undefined

/** Hooks of plugins for accepted events. */
export interface AcceptedEvents {
  /** Call this while services are created. */
  use(hook: AcceptedEventHook): void
  /** Returns a promise only if a hook waits. */
  stage(work: UnitOfWork, pipeline: StoredPipeline, event: AcceptedEvent): Promise<void> | undefined
}

export const AcceptedEvents = token<AcceptedEvents>("AcceptedEvents")

export function createAcceptedEvents(): AcceptedEvents {
  const hooks: AcceptedEventHook[] = []
  return {
    use: (hook) => hooks.push(hook),
    stage(work, pipeline, event) {
      let staged: Promise<void> | undefined
      for (const hook of hooks) {
        const before = staged
        staged = before ? before.then(() => hook(work, pipeline, event)) : hook(work, pipeline, event)
      }
      return staged
    },
  }
}
