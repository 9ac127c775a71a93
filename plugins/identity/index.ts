// Users, and the sessions that they begin. Organizations keep memberships and keys.
import { z } from "zod"
import { CacheInvalidation, Clock, definePlugin, Ids, Log, Store, token, UnitsOfWork } from "#core"
import { UserSessionsCollection, UsersCollection } from "./collections.ts"
import { createLastUse, type LastUse } from "./last-use.ts"
import { reasons } from "./reasons.ts"
import { createUserSessions, UserSessions } from "./user-sessions.ts"
import { createUsers, Users } from "./users.ts"

export type { User, UserSession } from "./collections.ts"
export { generateKey, hashKey, type KeyKind, type KeyText, keyFormat, parseKey, prefixOf } from "./key-format.ts"
export { createLastUse, type LastUse } from "./last-use.ts"
export { UserSessions } from "./user-sessions.ts"
export { type Departure, Users } from "./users.ts"

const SessionUses = token<LastUse>("last use of sessions")

const IdentitySettings = z.strictObject({
  session_idle_hours: z.int().min(1).max(720).default(12).describe("A person's session ends after this many hours without a call."),
  session_max_days: z.int().min(1).max(365).default(30).describe("A person's session ends after this many days in any case."),
})

const hourMs = 3_600_000

export default definePlugin({
  id: "identity",
  reasons,
  config: IdentitySettings,
  register(reg, settings) {
    reg.collections(UsersCollection, UserSessionsCollection)
    reg.provide(Users, {
      inject: { store: Store, invalidation: CacheInvalidation, clock: Clock, ids: Ids },
      create: createUsers,
    })
    reg.provide(SessionUses, {
      inject: { works: UnitsOfWork, clock: Clock, log: Log },
      create: createLastUse,
      stop: (use) => use.settled(),
    })
    reg.provide(UserSessions, {
      inject: { store: Store, invalidation: CacheInvalidation, clock: Clock, ids: Ids, use: SessionUses, users: Users },
      create({ users, ...deps }) {
        const limits = { idleMs: settings.session_idle_hours * hourMs, maxMs: settings.session_max_days * 24 * hourMs }
        const sessions = createUserSessions({ ...deps, ...limits })
        users.onDeparture(async (work, { id }) => void (await sessions.endAllOf(work, id)))
        return sessions
      },
    })
  },
})
