// The person behind a call, for operations about the own account.
import { AppError, type Caller, callerKind } from "#core"

/** Throws `permission_denied` for an agent, for a key without a user, and for a key that acts in a managed organization. */
export function userOf(caller: Caller): string {
  const { user, manager } = caller
  if (user && !manager && callerKind(caller) !== "agent") return user.id
  const message = "This call is about a person; use a session, or a key that a person created, in its own organization."
  throw new AppError("permission_denied", message, { reason: "no_person" })
}
