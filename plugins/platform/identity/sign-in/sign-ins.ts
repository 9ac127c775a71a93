// The last step of each sign-in: opens the session of the verified user and writes the audit record. A later sign-in of the same
// user in the same browser refreshes the session. Another user's session in that browser ends.
import { type Clock, type Ids, timestamp, token, type UnitOfWork } from "#core"
import { AuditLog, type SignIn, type UserAgents } from "#core/engine"
import type { User, UserSession } from "../collections.ts"
import type { OpenedSession, UserSessions } from "../user-sessions.ts"

export interface Browser {
  /** From `User-Agent`, such as "firefox, desktop". */
  readonly device: string
  readonly address: string
  readonly requestId: string
}

export interface SignIns {
  /** Stages the session of a verified user. `replaced`: the earlier session of this browser. */
  open(work: UnitOfWork, user: User, method: SignIn["method"], browser: Browser, replaced?: UserSession): Promise<OpenedSession>
  /** Returns the device of a `User-Agent` header. */
  deviceOf(userAgent: string | undefined): string
}

export const SignIns = token<SignIns>("SignIns")

interface SignInsDeps {
  readonly sessions: UserSessions
  readonly clock: Clock
  readonly ids: Ids
  readonly userAgents: UserAgents
  readonly auditDays: number
}

const dayMs = 86_400_000

export function createSignIns({ sessions, clock, ids, userAgents, auditDays }: SignInsDeps): SignIns {
  /** The organization of the latest session, while the user belongs to it. */
  async function organizationOf(user: User): Promise<string | null> {
    const latest = await sessions.latest(user.id)
    const isMember = latest?.acts_in && user.organization_ids.includes(latest.acts_in)
    return isMember ? latest.acts_in : (user.organization_ids[0] ?? null)
  }

  function audit(work: UnitOfWork, { id, user_id, acts_in, method }: UserSession, { device, address, requestId }: Browser): void {
    if (acts_in === null) return
    const now = clock.now()
    work.in(AuditLog, acts_in).insert({
      id: ids.uuid(),
      at: timestamp(now),
      actor: { credential_id: id, user_id, organization_id: null, surface: "rest" },
      operation: "sessions.sign_in",
      target: {},
      changes: { method, device, address },
      writes: [],
      more_writes: 0,
      request_id: requestId,
      expires_at: timestamp(now + auditDays * dayMs),
    })
  }

  return {
    async open(work, user, method, browser, replaced) {
      // Reads the current state, also when a conflict repeats this.
      const earlier = replaced && (await sessions.get(replaced.id))
      const isValid = earlier && earlier.revoked_at === null
      if (isValid && earlier.user_id !== user.id) sessions.end(work, earlier, "signed_out")
      const { device, address } = browser
      const session =
        isValid && earlier.user_id === user.id
          ? sessions.refresh(work, earlier, method)
          : sessions.open(work, { user: user.id, organization: await organizationOf(user), method, device, address })
      audit(work, session.session, browser)
      return session
    },
    deviceOf(userAgent = "") {
      const { browser, device_type } = userAgents(userAgent)
      return [browser, device_type].filter(Boolean).join(", ")
    },
  }
}
