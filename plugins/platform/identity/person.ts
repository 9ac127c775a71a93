// The person behind a call, for operations about the own account.
import { type AnyCaller, AppError, callerKind } from "#core"
import type { User } from "./collections.ts"
import type { Users } from "./users.ts"

export interface Person {
  readonly user: User
  /** Id of the session. */
  readonly session: string
}

/** Throws `permission_denied` for an agent, for a key without a user, and for a key that acts in a managed organization. */
export function userOf(caller: AnyCaller): string {
  const { user, manager } = caller
  if (user && !manager && callerKind(caller) !== "agent") return user.id
  const message = "This call is about a person; use a session, or a key that a person created, in its own organization."
  throw new AppError("permission_denied", message, { reason: "no_person" })
}

/** Throws `permission_denied` for a key, a token and a session opened with a key. A leaked key must not become a sign-in. */
export async function requirePerson({ signIn, user, credential }: AnyCaller, users: Users, action: string): Promise<Person> {
  const account = signIn && user && (await users.get(user.id))
  if (account) return { user: account, session: credential.id }
  const message = `${action} needs a person who signed in by mail or passkey; keys and sessions opened with keys have no account.`
  throw new AppError("permission_denied", message, { reason: "not_a_person" })
}
