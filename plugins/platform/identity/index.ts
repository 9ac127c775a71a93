// Users and their sessions. Organizations store memberships and keys.
import { z } from "zod"
import {
  CacheInvalidation,
  Clock,
  definePlugin,
  Ids,
  JobQueue,
  Log,
  PublicUrl,
  type Registrar,
  Settings,
  Store,
  token,
  UnitsOfWork,
  Vault,
} from "#core"
import { importedAtStart, UserAgents } from "#core/engine"
import { AddressChanges, createAddressChanges } from "./account/address-changes.ts"
import { addressCodeMail } from "./account/address-mail.ts"
import { changeAddress, confirmAddress, deleteAccount } from "./account/operations.ts"
import { createRecovery, Recovery } from "./account/recovery.ts"
import {
  AddressChangesCollection,
  SignInAttemptsCollection,
  UsedLinksCollection,
  UserSessionsCollection,
  UsersCollection,
} from "./collections.ts"
import { createLastUse, type LastUse, lastUseNeeds } from "./last-use.ts"
import { updateMe } from "./operations/me.ts"
import { endOtherSessions, endSession, listSessions } from "./operations/sessions.ts"
import { webauthn, webauthnDecoders } from "./passkeys/answers.ts"
import { PasskeyChallengesCollection, PasskeysCollection } from "./passkeys/collections.ts"
import { addPasskey, listPasskeys, offerPasskey, removePasskey, renamePasskey } from "./passkeys/operations.ts"
import { createPasskeys, Passkeys } from "./passkeys/passkeys.ts"
import { createPasskeySignIns, PasskeySignIns } from "./passkeys/sign-in.ts"
import { noticeMail } from "./person-mail.ts"
import { reasons } from "./reasons.ts"
import { createSignInCodes, SignInCodes, signInCodesNeeds } from "./sign-in/codes.ts"
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
export { type CodeSent, type Proof, SignInCodes } from "./sign-in/codes.ts"
export { createOperatorLink, type LinkTarget } from "./sign-in/operator-links.ts"
export { type Browser, SignIns } from "./sign-in/sign-ins.ts"
export { type OpenedSession, UserSessions } from "./user-sessions.ts"
export { type Departure, isUnclaimed, requirePerson, Users, unclaimedOwner } from "./users.ts"

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

/** Declares a person's own account. */
function registerAccount(reg: Registrar, settings: { readonly codes_per_email_hour: number }): void {
  reg.collections(AddressChangesCollection)
  reg.jobs(noticeMail, addressCodeMail)
  reg.operations(changeAddress, confirmAddress, deleteAccount)
  reg.provide(AddressChanges, {
    inject: { store: Store, works: UnitsOfWork, clock: Clock, vault: Vault, queue: JobQueue, users: Users, sessions: UserSessions },
    create(deps) {
      const changes = createAddressChanges(deps, { perEmail: settings.codes_per_email_hour })
      deps.users.onDeparture((work, { id }) => changes.drop(work, id))
      return changes
    },
  })
  reg.provide(Recovery, {
    inject: { sessions: UserSessions, passkeys: Passkeys, changes: AddressChanges, queue: JobQueue, clock: Clock },
    create: createRecovery,
  })
}

/** Declares passkeys. */
function registerPasskeys(reg: Registrar): void {
  reg.collections(PasskeysCollection, PasskeyChallengesCollection)
  reg.operations(listPasskeys, offerPasskey, addPasskey, renamePasskey, removePasskey)
  reg.run(
    "passkey library",
    importedAtStart(() => Promise.all([webauthn(), webauthnDecoders()])),
  )
  reg.provide(Passkeys, {
    inject: { store: Store, clock: Clock, publicUrl: PublicUrl, users: Users },
    create({ users, ...deps }) {
      const passkeys = createPasskeys(deps)
      users.onDeparture(async (work, { id }) => void (await passkeys.removeAllOf(work, id)))
      return passkeys
    },
  })
  reg.provide(PasskeySignIns, {
    inject: { store: Store, clock: Clock, publicUrl: PublicUrl, works: UnitsOfWork, users: Users, signIns: SignIns, log: Log },
    create: createPasskeySignIns,
  })
}
