// Where a plugin adds to the commit of an event that its pipeline accepted: what it stages is on disk with the event or
// not at all, whichever way the event came in. A refused, failed or repeated event, and one that its transform dropped,
// is not told of.
import type { Json } from "../contract/collection.ts"
import type { Envelope } from "../contract/envelope.ts"
import type { UnitOfWork } from "../contract/unit-of-work.ts"
import { token } from "../kernel/di.ts"
import type { StoredPipeline } from "./source.ts"
import type { Headers } from "./stamp/stamp.ts"

/** An accepted event, about to be committed. */
export interface AcceptedEvent {
  /** The same for a replay of the event, and for what its pipeline recognises as a repeat. */
  readonly identity: string
  /** RFC 3339; of the first time, where this is a replay. */
  readonly receivedAt: string
  readonly envelope: Envelope
  /** Names in lower case. A replay has those that were kept of the first time. */
  readonly rawHeaders: Headers
  readonly stamp: Readonly<Record<string, Json>>
}

/**
 * Stages what follows from an accepted event. Called for every event of every pipeline: returns at once, and no promise,
 * where the event does not concern it. Where it throws, the event is refused.
 */
export type AcceptedEventHook = (work: UnitOfWork, pipeline: StoredPipeline, event: AcceptedEvent) => Promise<void> | undefined

/** The hooks that plugins add to accepted events. */
export interface AcceptedEvents {
  /** To be called while services are created. */
  use(hook: AcceptedEventHook): void
  /** A promise only where a hook waits for something. */
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
