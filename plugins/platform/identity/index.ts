// Users, and the sessions that they begin. Organizations keep memberships and keys.
import { z } from "zod"
import { CacheInvalidation, Clock, definePlugin, Ids, Settings, Store, token } from "#core"
import { UserAgents } from "#core/engine"
import { registerAccount } from "./account/register.ts"
import { UserSessionsCollection, UsersCollection } from "./collections.ts"
import { createLastUse, type LastUse, lastUseNeeds } from "./last-use.ts"
import { updateMe } from "./operations/me.ts"
import { endOtherSessions, endSession, listSessions } from "./operations/sessions.ts"
import { registerPasskeys } from "./passkeys/register.ts"
import { reasons } from "./reasons.ts"
import { createSignInCodes, SignInCodes, signInCodesNeeds } from "./sign-in/codes.ts"
import { SignInAttemptsCollection, UsedLinksCollection } from "./sign-in/collections.ts"
import { CodeCountsCollection } from "./sign-in/limits.ts"
import { signInLinkCommand } from "./sign-in/link-command.ts"
import { signInMail } from "./sign-in/mail.ts"
import { createSignIns, SignIns } from "./sign-in/sign-ins.ts"
import { createUserSessions, UserSessions } from "./user-sessions.ts"
import { createUsers, Users, usersNeeds } from "./users.ts"

export { Recovery } from "./account/recovery.ts"
export type { User, UserSession } from "./collections.ts"
export { generateKey, hashKey, type KeyKind, type KeyText, keyFormat, parseKey, prefixOf, textKind } from "./key-format.ts"
export { createLastUse, type LastUse } from "./last-use.ts"
export { SixDigits } from "./mailed-code.ts"
export { PasskeyAnswer } from "./passkeys/answers.ts"
export { PasskeySignIns } from "./passkeys/sign-in.ts"
export { requirePerson } from "./person.ts"
export { type CodeSent, type Proof, SignInCodes } from "./sign-in/codes.ts"
export { isUnclaimed, unclaimedOwner } from "./sign-in/first-owner.ts"
export { createOperatorLink, type LinkTarget } from "./sign-in/operator-links.ts"
export { type Browser, SignIns } from "./sign-in/sign-ins.ts"
export { type OpenedSession, UserSessions } from "./user-sessions.ts"
export { type Departure, Users } from "./users.ts"

const SessionUses = token<LastUse>("last use of sessions")

const IdentitySettings = z.strictObject({
  session_idle_hours: z.int().min(1).max(720).default(12).describe("A person's session ends after this many hours without a call."),
  session_max_days: z.int().min(1).max(365).default(30).describe("A person's session ends after this many days in any case."),
  codes_per_email_hour: z.int().min(1).max(1_000).default(5).describe("Sign-in codes that an email address gets in an hour."),
  codes_per_address_hour: z
    .int()
    .min(1)
    .max(100_000)
    .default(20)
    .describe("Sign-in codes that an IP address (IPv6: a /64) requests in an hour."),
})

const hourMs = 3_600_000

export default definePlugin({
  id: "identity",
  needs: ["email", "user-agents"],
  reasons,
  config: IdentitySettings,
  commands: [signInLinkCommand],
  register(reg, settings) {
    reg.collections(UsersCollection, UserSessionsCollection, SignInAttemptsCollection, UsedLinksCollection, CodeCountsCollection)
    reg.jobs(signInMail)
    reg.operations(updateMe, listSessions, endSession, endOtherSessions)
    registerAccount(reg, settings)
    registerPasskeys(reg)
    reg.provide(Users, { inject: usersNeeds, create: createUsers })
    reg.provide(SessionUses, {
      inject: lastUseNeeds,
      create: createLastUse,
      stop: (use) => use.whenIdle(),
    })
    reg.provide(UserSessions, {
      inject: { store: Store, invalidation: CacheInvalidation, clock: Clock, ids: Ids, use: SessionUses, users: Users },
      create({ users, ...deps }) {
        const limits = { idleMs: settings.session_idle_hours * hourMs, maxMs: settings.session_max_days * 24 * hourMs }
        const sessions = createUserSessions({ ...deps, ...limits })
        users.onDeparture((work, { id }) => sessions.forget(work, id))
        return sessions
      },
    })
    reg.provide(SignIns, {
      inject: { sessions: UserSessions, clock: Clock, ids: Ids, userAgents: UserAgents, settings: Settings },
      create: ({ settings: core, ...deps }) => createSignIns({ ...deps, auditDays: core.retention.audit_days }),
    })
    reg.provide(SignInCodes, {
      inject: signInCodesNeeds,
      create: (deps) => createSignInCodes(deps, { perEmail: settings.codes_per_email_hour, perAddress: settings.codes_per_address_hour }),
    })
  },
})
