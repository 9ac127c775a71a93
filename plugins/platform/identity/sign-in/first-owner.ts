// The first user has no name and no address until an operator's link, or the first key, sets both.
import { AppError, type Store, type UnitOfWork } from "#core"
import { type User, UsersCollection } from "../collections.ts"
import type { Users } from "../users.ts"

/** Address of first users from earlier versions. */
const placeholder = "owner@localhost"

export function isUnclaimed({ email }: Pick<User, "email">): boolean {
  return email === "" || email === placeholder
}

export async function unclaimedOwner(store: Store): Promise<User | undefined> {
  return await store.open(UsersCollection).first({ email: { $in: ["", placeholder] } })
}

/** Stages the name and the address of the first user. Throws `already_exists` for another user's address. */
export async function claim(work: UnitOfWork, users: Users, owner: User, input: { name: string; email: string }): Promise<User> {
  const holder = await users.byEmail(input.email)
  // A concurrent claim gave the owner this address. The update below conflicts.
  if (holder && holder.id !== owner.id) {
    const message = `email: another user has the address "${input.email}"; give another one, or sign in with it.`
    throw new AppError("already_exists", message, { reason: "email_taken" })
  }
  users.update(work, owner.id, input, { email: owner.email })
  return { ...owner, ...input }
}
