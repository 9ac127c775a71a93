// Browser sessions opened with a key. A session has the identity and the rights of the key. It lives in a cookie and ends with
// the key or by its age. Sessions of persons are in the identity plugin.
import { AppError, Clock, type Deps, Store, timestamp, token, UnitsOfWork } from "#core"
import { Authenticator, type Credentials, requesterOf, requireOrganization } from "#core/engine"
import { parseKey, UserSessions } from "../identity/index.ts"
import { ApiKeys } from "./api-keys.ts"
import { KeysCollection } from "./collections.ts"

export interface Session {
  /** For the cookie; never stored. */
  readonly text: string
  /** RFC 3339. An unused session may end earlier. */
  readonly expires_at: string
}

export interface Sessions {
  /** Throws the errors of an operation for an invalid key. Throws `permission_denied` for a session. */
  signIn(credentials: Credentials): Promise<Session>
  /** Ends the session of the credentials on every node. Throws `unauthenticated` for an ended session. */
  signOut(credentials: Credentials): Promise<void>
}

export const Sessions = token<Sessions>("Sessions")

export const sessionsNeeds = {
  store: Store,
  works: UnitsOfWork,
  clock: Clock,
  keys: ApiKeys,
  authenticator: Authenticator,
  userSessions: UserSessions,
}

export function createSessions(
  { store, works, clock, keys, authenticator, userSessions }: Deps<typeof sessionsNeeds>,
  maxMs: number,
): Sessions {
  return {
    async signIn(credentials) {
      const signer = await authenticator.authenticate(credentials)
      if (signer.credential.kind === "session")
        throw new AppError("permission_denied", "A session cannot open another one; sign in with a key.", { reason: "session_not_a_key" })
      const caller = requireOrganization(signer, "A session")
      const { organization, credential, link } = caller
      const key = await store.open(KeysCollection, organization.id).get(credential.id)
      if (!key)
        throw new AppError("not_found", "The key belongs to another organization; sign in without X-Organization-ID.", {
          reason: "key_not_found",
        })
      const endsAt = Math.min(clock.now() + maxMs, key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at))
      const expires_at = timestamp(endsAt)
      const origins = await keys.origins(organization.id, requesterOf(caller))
      const text = await works.run((work) => {
        const { id: createdBy, name, role, scopes, manager, user_id: user, key_id: signedInWith } = key
        const rights = { name, role, scopes, manager, user, managerId: link?.manager_id, origins }
        return keys.mint(work, organization.id, { ...rights, kind: "session", expiresAt: expires_at, createdBy, signedInWith }).text
      })
      return { text, expires_at }
    },
    async signOut(credentials) {
      const text = parseKey(credentials.bearer ?? "")
      const person = typeof text === "string" ? undefined : await userSessions.prove(text)
      if (person) return await works.run((work) => userSessions.end(work, person, "signed_out"))
      const { organization, credential } = await authenticator.authenticate(credentials)
      if (credential.kind !== "session" || !organization) return
      const key = await keys.get(organization.id, credential.id)
      await works.run((work) => void keys.revoke(work, organization.id, key))
    },
  }
}
