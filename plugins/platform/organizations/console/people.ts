// Members as the screens show them, and what the signed-in person may do with them.
import { me, type Output, roles } from "#console"

export type Member = Output<"members.list">["members"][number]

/** Name of a member, or the address. */
export function titleOf({ name, email }: Pick<Member, "name" | "email">): string {
  return name || email || "the first owner"
}

/** Name of a user of the organization, or of a former one. */
export function nameOf(user: string | null, members: readonly Member[]): string {
  if (user === null) return "a service key"
  const member = members.find(({ user_id }) => user_id === user)
  return member ? titleOf(member) : "a former member"
}

/** Roles up to the person's own. A manager's credential changes no members. */
export function grantable(): readonly string[] {
  const { role, credential } = me.value ?? {}
  return !role || credential?.manager ? [] : roles.slice(0, roles.indexOf(role) + 1)
}
