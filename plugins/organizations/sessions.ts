// Sessions of browsers: signing in with a key, or with a code that stands for one for some minutes, makes a credential of
// its own with the key's rights, which lives in a cookie and ends by itself.
import { randomBytes } from "node:crypto"
import { AppError, type Clock, type Store, sameBytes, timestamp, token, type UnitsOfWork } from "#core"
import type { Authenticator, Credentials } from "#core/engine"
import { hashKey, parseKey, type UserSessions } from "../identity/index.ts"
import type { ApiKeys } from "./api-keys.ts"
import { KeysCollection } from "./collections.ts"
import { partyOf } from "./origins.ts"

export interface Session {
  /** For the cookie; kept nowhere. */
  readonly text: string
  /** RFC 3339; it may end earlier, when it is not used. */
  readonly expires_at: string
}

export interface Sessions {
  /** Throws as an operation would for a key that does not hold. Given a session, `permission_denied`. */
  signIn(credentials: Credentials): Promise<Session>
  /** A code that signs in once, as the key would, within ten minutes, on this node. */
  code(key: string): string
  /** The key of a code, which is used up by it; undefined for a code that does not hold. */
  redeem(code: string): string | undefined
  /** Ends the session of the credentials on every node. Throws `unauthenticated` where it has ended. */
  signOut(credentials: Credentials): Promise<void>
}

export const Sessions = token<Sessions>("Sessions")

interface SessionsDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly keys: ApiKeys
  readonly authenticator: Authenticator
  readonly userSessions: UserSessions
}

const codeMs = 600_000

export function createSessions({ store, works, clock, keys, authenticator, userSessions }: SessionsDeps, maxMs: number): Sessions {
  let pending: { readonly hash: string; readonly key: string; readonly ends: number } | undefined
  return {
    async signIn(credentials) {
      const caller = await authenticator.authenticate(credentials)
      const { organization, credential, link } = caller
      if (credential.kind === "session")
        throw new AppError("permission_denied", "A session cannot open another one; sign in with a key.", { reason: "session_not_a_key" })
      const key = await store.open(KeysCollection, organization.id).get(credential.id)
      if (!key)
        throw new AppError("not_found", "The key belongs to another organization; sign in without X-Organization-ID.", {
          reason: "key_not_found",
        })
      const ends = Math.min(clock.now() + maxMs, key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at))
      const expires_at = timestamp(ends)
      const origins = await keys.origins(organization.id, partyOf(caller))
      const text = await works.run((work) => {
        const { id: createdBy, name, role, scopes, manager, user_id: user, key_id: signedInWith } = key
        const rights = { name, role, scopes, manager, user, managerId: link?.manager_id, origins }
        return keys.mint(work, organization.id, { ...rights, kind: "session", expiresAt: expires_at, createdBy, signedInWith }).text
      })
      return { text, expires_at }
    },
    code(key) {
      const code = randomBytes(24).toString("base64url")
      pending = { hash: hashKey(code), key, ends: clock.now() + codeMs }
      return code
    },
    redeem(code) {
      const holds = pending && clock.now() < pending.ends && sameBytes(hashKey(code), pending.hash)
      const key = holds ? pending?.key : undefined
      if (holds) pending = undefined
      return key
    },
    async signOut(credentials) {
      const text = parseKey(credentials.bearer ?? "")
      const person = typeof text === "string" ? undefined : await userSessions.prove(text)
      if (person) return await works.run((work) => userSessions.end(work, person, "signed_out"))
      const { organization, credential } = await authenticator.authenticate(credentials)
      if (credential.kind !== "session") return
      const key = await keys.get(organization.id, credential.id)
      await works.run((work) => void keys.revoke(work, organization.id, key))
    },
  }
}
