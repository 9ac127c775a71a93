// Sessions of visitors across requests. They are stored, so they survive a restart. A durable job ends a session.
// The job is postponed while the visitor stays.
import { z } from "zod"
import { defineJob, derivedUuid, type Ids, type JobQueue, type Json, Postponed, token, type UnitOfWork } from "#core"
import type { VisitorSessions } from "../pages/index.ts"
import { type EndedSessionDocument, type SessionDocument, SessionsCollection } from "./collections.ts"
import { campaignIn } from "./rows.ts"
import { type Derived, endOf, idleMs, lastBase, type SessionState } from "./session.ts"
import { mayGoOn, type Owner, SessionEnds, type SessionEndsDeps } from "./session-ends.ts"

/** A session as read from the store, ready for changes. */
export interface OpenSession {
  readonly state: SessionState
  /** The visitor's previous session, if it is over but not yet ended. */
  readonly over: SessionState | undefined
  /** The same session's end document, if the session had ended and resumes. */
  readonly ended: EndedSessionDocument | undefined
  readonly stored: SessionDocument | undefined
}

/** Data from the sending page about its session. */
export interface SaidSession {
  /** Id of the session that began with the page. */
  readonly shownAs?: string | undefined
  /** Id of the session in which the page was served. */
  readonly shownIn?: string | undefined
  /** Time of the last view in the sent events, in milliseconds since the epoch. */
  readonly viewedAt?: number | undefined
}

export interface Sessions extends VisitorSessions {
  /**
   * Returns the visitor's session at `now`: the open session, or the ended session of the page unless the page was viewed again
   * since. Otherwise creates a session, with the id from the page if that id is free.
   */
  of(organization: string, visitor: string, now: number, said?: SaidSession): Promise<OpenSession>
  /** Returns the state of the session if the visitor has it open. */
  open(organization: string, visitor: string, sessionId: string): Promise<SessionState | undefined>
  /**
   * Stages the session and its derived rows. After a concurrent change the commit fails with `aborted`, `already_exists` or
   * `not_found`.
   */
  stage(work: UnitOfWork, organization: Owner, visitor: string, session: OpenSession, derived: Derived): Promise<void>
  /** Stages a lead mark for the session. */
  markLead(work: UnitOfWork, organization: Owner, sessionId: string, isTest: boolean): Promise<void>
  /** Ends a session. Throws Postponed if the session is not over yet. */
  end(work: UnitOfWork, organization: Owner, visitor: string, sessionId: string): Promise<void>
}

export const Sessions = token<Sessions>("PageSessions")

export interface SessionsDeps extends SessionEndsDeps {
  readonly ids: Ids
  readonly queue: JobQueue
}

const EndPayload = z.object({ organization: z.string(), slug: z.string(), visitor: z.string(), session_id: z.string() })

/** Ends one session after its idle time. */
export const endSession = defineJob({
  type: "page_events.session_end",
  summary: "Ends a visitor's session and derives its final events.",
  payload: EndPayload,
  inject: { sessions: Sessions },
  run({ payload, deps, work }) {
    const { organization, slug, visitor, session_id } = payload
    return deps.sessions.end(work, { id: organization, slug }, visitor, session_id)
  },
})

export function createSessions({ ids, queue, ...deps }: SessionsDeps): Sessions {
  const { store, clock } = deps
  const ends = new SessionEnds(deps)
  const read = (organization: string, visitor: string) => store.open(SessionsCollection, organization).get(visitor)

  return {
    async isOpen(organization, visitor) {
      const stored = await read(organization, visitor)
      return stored !== undefined && endOf(stored.state) > clock.now()
    },
    async shown(organization, visitor) {
      const now = clock.now()
      const stored = await read(organization, visitor)
      if (stored && endOf(stored.state) > now) {
        return { id: stored.state.session_id, begins: false, campaign: campaignIn({}, lastBase(stored.state, false)) }
      }
      // The same id for every page served before the first event.
      const id = derivedUuid("page session", organization, visitor, String(Math.floor(now / idleMs)))
      return { id, begins: true, campaign: {} }
    },
    async of(organization, visitor, now, { shownAs, shownIn, viewedAt = 0 } = {}) {
      const stored = await read(organization, visitor)
      const goesOn = (state: SessionState) => state.session_id === shownIn && mayGoOn(state, now) && viewedAt <= endOf(state)
      if (stored && (endOf(stored.state) > now || goesOn(stored.state)))
        return { state: structuredClone(stored.state), over: undefined, ended: undefined, stored }
      const ended = shownIn === undefined ? undefined : await ends.ended(organization, visitor, shownIn)
      if (ended && goesOn(ended.state)) return { state: structuredClone(ended.state), over: stored?.state, ended, stored }
      const session_id = shownAs !== undefined && shownAs !== stored?.state.session_id ? shownAs : ids.uuid()
      const state = { session_id, started_at: now, last_at: now, pages: {}, numbers: {} }
      return { state, over: stored?.state, ended: undefined, stored }
    },
    async open(organization, visitor, sessionId) {
      const stored = await read(organization, visitor)
      return stored?.state.session_id === sessionId ? stored.state : undefined
    },
    async stage(work, organization, visitor, { state, over, ended, stored }, derived) {
      const sessions = work.in(SessionsCollection, organization.id)
      if (over) await ends.end(work, organization, visitor, over)
      if (ended) ends.resume(work, organization, ended)
      await ends.withdraw(work, organization, state.session_id, derived.withdrawn)
      await ends.writeDerived(work, organization, state.session_id, derived.rows)
      const json = state as unknown as Json
      if (stored)
        sessions.update(visitor, { $set: { state: json, revision: stored.revision + 1 } }, { where: { revision: stored.revision } })
      else sessions.insert({ id: visitor, state, revision: 1 })
      if (stored && !over) return
      const payload = { organization: organization.id, slug: organization.slug, visitor, session_id: state.session_id }
      const id = ended ? derivedUuid(state.session_id, String(state.last_at)) : state.session_id
      queue.enqueue(work, endSession, payload, { organization: organization.id, id, runAt: endOf(state) })
    },
    markLead: (work, organization, sessionId, isTest) => ends.markLead(work, organization, sessionId, isTest),
    async end(work, organization, visitor, sessionId) {
      const stored = await read(organization.id, visitor)
      if (stored?.state.session_id !== sessionId) return
      const remaining = endOf(stored.state) - clock.now()
      if (remaining > 0) throw new Postponed(remaining)
      await ends.end(work, organization, visitor, stored.state)
      work.in(SessionsCollection, organization.id).remove(visitor, { where: { revision: stored.revision } })
    },
  }
}
