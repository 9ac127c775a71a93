// Operations of a person's own account. A key of the person calls none of them: a leaked key must not become a sign-in.
import { AppError, type Caller } from "#core"
import type { User } from "./collections.ts"
import type { Users } from "./users.ts"

export interface Person {
  readonly user: User
  /** Id of the session. */
  readonly session: string
}

/** Throws `permission_denied` for a key, a token and a session opened with a key. */
export async function requirePerson({ signIn, user, credential }: Caller, users: Users, what: string): Promise<Person> {
  const found = signIn && user && (await users.get(user.id))
  if (found) return { user: found, session: credential.id }
  const message = `${what} needs a person who signed in by mail or passkey; keys and sessions opened with keys have no account.`
  throw new AppError("permission_denied", message, { reason: "not_a_person" })
}
