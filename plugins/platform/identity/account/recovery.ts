// Recovery of an account by another person: an owner of the person's organization, or the operator. Ends the possible access of a
// thief and mails the person. It opens no session, so the recovering person gains no access.
import { token, type UnitOfWork } from "#core"
import type { User } from "../collections.ts"
import type { Passkeys } from "../passkeys/passkeys.ts"
import { type NoticeDeps, stageNotice } from "../person-mail.ts"
import type { UserSessions } from "../user-sessions.ts"
import type { AddressChanges } from "./address-changes.ts"

export interface Recovered {
  readonly ended_sessions: number
  readonly removed_passkeys: number
}

export interface Recovery {
  /**
   * Stages the end of every session, passkey and pending change of address, and a mail. `by`: name of the recovering person, for
   * the mail.
   */
  recover(work: UnitOfWork, user: User, by: string): Promise<Recovered>
}

export const Recovery = token<Recovery>("Recovery")

interface RecoveryDeps extends NoticeDeps {
  readonly sessions: UserSessions
  readonly passkeys: Passkeys
  readonly changes: AddressChanges
}

export function createRecovery({ sessions, passkeys, changes, ...mail }: RecoveryDeps): Recovery {
  return {
    async recover(work, user, by) {
      const ended_sessions = await sessions.endAllOf(work, user.id)
      const removed_passkeys = await passkeys.removeAllOf(work, user.id)
      changes.drop(work, user.id)
      stageNotice(work, mail, {
        to: user.email,
        heading: "Your sign-ins were reset",
        intro: "Your sessions ended and your passkeys were removed. Sign in by mail again, and add a passkey. Your keys continue.",
        fields: [{ label: "Reset by", value: by }],
      })
      return { ended_sessions, removed_passkeys }
    },
  }
}
