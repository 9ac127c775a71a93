// Interactive sessions of signed-in persons. The browser stores the text in a cookie, the store its hash. A session ends by
// expiry, by its own sign-out, or from elsewhere. The end reaches every node before the response.
import {
  AppError,
  allKeys,
  type CacheInvalidation,
  type Clock,
  type Filter,
  type Ids,
  type Store,
  sameBytes,
  timestamp,
  token,
  type UnitOfWork,
} from "#core"
import { credentialsTopic, GenerationCache, type SignIn } from "#core/engine"
import { type SessionEnd, type UserSession, UserSessionsCollection } from "./collections.ts"
import { generateKey, hashKey, type KeyText } from "./key-format.ts"
import type { LastUse } from "./last-use.ts"

export interface NewSession {
  readonly user: string
  /** The organization of calls without `X-Organization-ID`. */
  readonly organization: string | null
  readonly method: SignIn["method"]
  readonly device: string
  readonly address: string
}

export interface OpenedSession {
  readonly session: UserSession
  /** For the cookie; never stored. */
  readonly text: string
}

export interface UserSessions {
  /** Stages a session. */
  open(work: UnitOfWork, input: NewSession): OpenedSession
  /** Returns the session of a text. Undefined if the text belongs to no person's session. Throws `unauthenticated` for an ended session. */
  prove(text: KeyText): Promise<UserSession | undefined>
  /** Records a use. */
  note(session: UserSession): void
  /** Facts of the sign-in, for a caller. */
  signInOf(session: UserSession): SignIn
  get(id: string): Promise<UserSession | undefined>
  /** Selects the valid sessions of a user. */
  validFilter(user: string): Filter
  latest(user: string): Promise<UserSession | undefined>
  /** Valid sessions of a user, newest first. */
  valid(user: string): AsyncIterable<UserSession>
  /** Stages a later sign-in within the session, with a new text. The old text ends. */
  refresh(work: UnitOfWork, session: UserSession, method: SignIn["method"]): OpenedSession
  /** Stages the default organization of the session. */
  switchTo(work: UnitOfWork, session: UserSession, organization: string): void
  /** Stages the end of a session. It is effective on every node before the call's response. */
  end(work: UnitOfWork, session: UserSession, end: SessionEnd): void
  /** Stages the end of all sessions of a user except `except`. Returns their count. */
  endAllOf(work: UnitOfWork, user: string, options?: { except?: string }): Promise<number>
  /** Stages the end of all sessions of a deleted user. Their records lose device and address. */
  forget(work: UnitOfWork, user: string): Promise<void>
}

export const UserSessions = token<UserSessions>("UserSessions")

interface UserSessionsDeps {
  readonly store: Store
  readonly invalidation: CacheInvalidation
  readonly clock: Clock
  readonly ids: Ids
  readonly use: LastUse
  readonly idleMs: number
  readonly maxMs: number
}

const freshMs = 300_000
/** Approvals and keys refer to the session of their creation. */
const retentionMs = 90 * 86_400_000
const maxUnknown = 10_000

export function createUserSessions({ store, invalidation, clock, ids, use, idleMs, maxMs }: UserSessionsDeps): UserSessions {
  const cache = new GenerationCache<UserSession>(10_000)
  /** Public parts of other credentials. These random ids never become sessions later. */
  const unknown = new Set<string>()
  invalidation.onChange(credentialsTopic, (key) => (key === allKeys ? cache.clear() : cache.drop(key)))

  const collection = () => store.open(UserSessionsCollection)
  const announceChange = (work: UnitOfWork, { key_id }: UserSession) =>
    invalidation.announce(work, credentialsTopic, key_id, { settled: true })
  const isIdle = (session: UserSession) => clock.now() - use.last(session) >= idleMs
  const isOver = ({ expires_at }: UserSession) => Date.parse(expires_at) <= clock.now()

  async function find(keyId: string): Promise<UserSession | undefined> {
    if (unknown.has(keyId)) return undefined
    const session = await cache.load(keyId, () => collection().first({ key_id: keyId }))
    if (session) return session
    if (unknown.size >= maxUnknown) unknown.clear()
    unknown.add(keyId)
    return undefined
  }

  function validFilter(user: string): Filter {
    const [now, used] = [timestamp(clock.now()), { $gt: timestamp(clock.now() - idleMs) }]
    return {
      user_id: user,
      revoked_at: null,
      expires_at: { $gt: now },
      $or: [{ last_used_at: used }, { last_used_at: null, created_at: used }],
    }
  }

  function end(work: UnitOfWork, session: UserSession, cause: SessionEnd): void {
    const changes = { revoked_at: timestamp(clock.now()), end: cause }
    if (session.revoked_at === null)
      work.in(UserSessionsCollection).update(session.id, { $set: changes }, { where: { revoked_at: null }, optional: true })
    // A repeated call also waits: the first call may still wait for other nodes.
    announceChange(work, session)
  }

  return {
    open(work, { user, organization, method, device, address }) {
      const { keyId, text } = generateKey("session")
      const now = clock.now()
      const at = timestamp(now)
      const session: UserSession = {
        id: ids.uuid(),
        key_id: keyId,
        hash: hashKey(text),
        user_id: user,
        acts_in: organization,
        method,
        signed_in_at: at,
        device,
        address,
        created_at: at,
        last_used_at: null,
        expires_at: timestamp(now + maxMs),
        revoked_at: null,
        end: null,
        kept_until: timestamp(now + maxMs + retentionMs),
      }
      work.in(UserSessionsCollection).insert(session)
      return { session, text }
    },
    async prove({ keyId, text }) {
      const session = await find(keyId)
      if (!session || !sameBytes(hashKey(text), session.hash)) return undefined
      if (session.revoked_at !== null) throw sessionEnded(`This session was ended at ${session.revoked_at}; sign in again.`)
      if (isOver(session)) throw sessionEnded(`This session expired at ${session.expires_at}; sign in again.`)
      if (!isIdle(session)) return session
      // Another node may have recorded a later use.
      cache.drop(keyId)
      const now = await find(keyId)
      if (now && now.revoked_at === null && !isIdle(now)) return now
      throw sessionEnded("This session was not used for too long; sign in again.")
    },
    note: (session) =>
      use.note(session, (work, fields) => work.in(UserSessionsCollection).update(session.id, { $set: fields }, { optional: true })),
    signInOf: ({ method, signed_in_at }) => ({
      method,
      at: signed_in_at,
      isFresh: clock.now() - Date.parse(signed_in_at) < freshMs,
    }),
    get: (id) => collection().get(id),
    validFilter,
    latest: (user) => collection().first(validFilter(user), { sort: { id: -1 } }),
    valid: (user) => collection().stream(validFilter(user), { sort: { id: -1 } }),
    refresh(work, session, method) {
      // Same public part: a concurrent end of the earlier session applies to the new text too.
      const { text } = generateKey("session", session.key_id)
      const now = clock.now()
      const times = { signed_in_at: timestamp(now), expires_at: timestamp(now + maxMs), kept_until: timestamp(now + maxMs + retentionMs) }
      const changes = { hash: hashKey(text), method, ...times }
      work.in(UserSessionsCollection).update(session.id, { $set: changes }, { where: { revoked_at: null, hash: session.hash } })
      announceChange(work, session)
      return { session: { ...session, ...changes }, text }
    },
    switchTo(work, session, organization) {
      work.in(UserSessionsCollection).update(session.id, { $set: { acts_in: organization } }, { where: { revoked_at: null } })
      announceChange(work, session)
    },
    end,
    async endAllOf(work, user, { except } = {}) {
      let count = 0
      for await (const session of collection().stream({ user_id: user, revoked_at: null })) {
        if (session.id === except) continue
        end(work, session, "ended")
        count++
      }
      return count
    },
    async forget(work, user) {
      for await (const session of collection().stream({ user_id: user })) {
        end(work, session, "ended")
        work.in(UserSessionsCollection).update(session.id, { $set: { device: "", address: "" } }, { optional: true })
      }
    },
  }
}

function sessionEnded(message: string): AppError {
  return new AppError("unauthenticated", message, { reason: "session_ended" })
}
