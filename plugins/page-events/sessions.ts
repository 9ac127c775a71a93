// Sessions across requests: which one a visitor is in, kept in the store so that a restart forgets nothing, and closed by
// a durable job that is put off for as long as the visitor stays.

import { z } from "zod"
import {
  type Clock,
  defineJob,
  derivedUuid,
  type Ids,
  type JobQueue,
  type Json,
  type Live,
  Postponed,
  type Store,
  token,
  type Work,
} from "#core"
import type { ReservedDataset } from "../datasets/index.ts"
import type { VisitorSessions } from "../pages/index.ts"
import { type SessionDocument, SessionsCollection } from "./collections.ts"
import { pageEventsKey } from "./columns.ts"
import { derivedRowOf } from "./rows.ts"
import { conclude, type DerivedRow, endOf, idleMs, type SessionState } from "./session.ts"

export interface Owner {
  readonly id: string
  readonly slug: string
}

/** A session as it was read, to be changed and staged. */
export interface OpenSession {
  readonly state: SessionState
  /** The one before, of the same visitor, when it is over and nobody has said so yet. */
  readonly over: SessionState | undefined
  readonly stored: SessionDocument | undefined
}

export interface Sessions extends VisitorSessions {
  /** The open session of a visitor at that time, or a new one: with the id that the page was shown with, where that is still free. */
  of(organization: string, visitor: string, now: number, shownAs?: string): Promise<OpenSession>
  /** Stages the session and the rows that follow. One changed meanwhile has the commit `aborted` or `already_exists`. */
  stage(work: Work, organization: Owner, visitor: string, session: OpenSession, derived: readonly DerivedRow[]): Promise<void>
  /** Ends a session that is over; throws Postponed while it is not. */
  end(work: Work, organization: Owner, visitor: string, sessionId: string): Promise<void>
}

export const Sessions = token<Sessions>("PageSessions")

export interface SessionsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly queue: JobQueue
  readonly live: Live
  readonly dataset: ReservedDataset
}

const EndPayload = z.object({ organization: z.string(), slug: z.string(), visitor: z.string(), session_id: z.string() })

/** Closes one session when it has been idle for long enough. */
export const endSession = defineJob({
  type: "page_events.session_end",
  summary: "Ends a visitor's session, and says what follows from it.",
  payload: EndPayload,
  inject: { sessions: Sessions },
  run({ payload, deps, work }) {
    const { organization, slug, visitor, session_id } = payload
    return deps.sessions.end(work, { id: organization, slug }, visitor, session_id)
  },
})

export const liveChannel = "datasets:page-events"

export function createSessions({ store, clock, ids, queue, live, dataset }: SessionsDeps): Sessions {
  const read = (organization: string, visitor: string) => store.open(SessionsCollection, organization).get(visitor)

  async function writeDerived(work: Work, organization: Owner, sessionId: string, rows: readonly DerivedRow[]): Promise<void> {
    const receivedAt = new Date(clock.now()).toISOString()
    for (const derived of rows) {
      const values = derivedRowOf(sessionId, derived)
      const origin = { executionId: sessionId, stepId: derived.kind, itemIndex: derived.number, receivedAt }
      await dataset.write(work, { organization, key: pageEventsKey, values, origin })
      const data: Json = values
      live.stage(work, organization.id, { channel: liveChannel, event: "page_event", data })
    }
  }

  return {
    async isOpen(organization, visitor) {
      const stored = await read(organization, visitor)
      return stored !== undefined && endOf(stored.state) > clock.now()
    },
    async shown(organization, visitor) {
      const now = clock.now()
      const stored = await read(organization, visitor)
      if (stored && endOf(stored.state) > now) return { id: stored.state.session_id, begins: false }
      // The same for every page that is shown before the first event comes.
      return { id: derivedUuid("page session", organization, visitor, String(Math.floor(now / idleMs))), begins: true }
    },
    async of(organization, visitor, now, shownAs) {
      const stored = await read(organization, visitor)
      if (stored && endOf(stored.state) > now) return { state: structuredClone(stored.state), over: undefined, stored }
      const session_id = shownAs !== undefined && shownAs !== stored?.state.session_id ? shownAs : ids.uuid()
      const state = { session_id, started_at: now, last_at: now, pages: {}, numbers: {} }
      return { state, over: stored?.state, stored }
    },
    async stage(work, organization, visitor, { state, over, stored }, derived) {
      const sessions = work.in(SessionsCollection, organization.id)
      if (over) await writeDerived(work, organization, over.session_id, conclude(over))
      await writeDerived(work, organization, state.session_id, derived)
      const kept = state as unknown as Json
      if (stored)
        sessions.update(visitor, { $set: { state: kept, revision: stored.revision + 1 } }, { where: { revision: stored.revision } })
      else sessions.insert({ id: visitor, state, revision: 1 })
      if (stored && !over) return
      const payload = { organization: organization.id, slug: organization.slug, visitor, session_id: state.session_id }
      queue.enqueue(work, endSession, payload, { organization: organization.id, id: state.session_id, runAt: endOf(state) })
    },
    async end(work, organization, visitor, sessionId) {
      const stored = await read(organization.id, visitor)
      if (stored?.state.session_id !== sessionId) return
      const left = endOf(stored.state) - clock.now()
      if (left > 0) throw new Postponed(left)
      await writeDerived(work, organization, sessionId, conclude(stored.state))
      work.in(SessionsCollection, organization.id).remove(visitor, { where: { revision: stored.revision } })
    },
  }
}
