// Effects of a user's deletion on organizations: every membership ends as if the person had left. The last owner of an
// organization cannot be deleted.
import { AppError, type Deps, type UnitOfWork } from "#core"
import { type User, Users } from "../../identity/index.ts"
import type { Membership } from "../collections.ts"
import { Organizations } from "../directory.ts"
import { Members } from "./members.ts"

export const endMembershipsOfDeletedNeeds = { users: Users, members: Members, organizations: Organizations }

/** Call this while services are created. */
export function endMembershipsOfDeleted({ users, members, organizations }: Deps<typeof endMembershipsOfDeletedNeeds>): void {
  users.onDeparture(async (work, user) => {
    const memberships = await membershipsOf(user)
    await refuseLastOwner(memberships)
    for (const [organization, member] of memberships) {
      if (member) await members.remove(work, organization, member)
      else dropStale(work, user, organization)
    }
  })

  async function membershipsOf({ id, organization_ids }: User): Promise<(readonly [string, Membership | undefined])[]> {
    return await Promise.all(organization_ids.map(async (organization) => [organization, await members.find(organization, id)] as const))
  }

  async function refuseLastOwner(memberships: readonly (readonly [string, Membership | undefined])[]): Promise<void> {
    const names: string[] = []
    for (const [organization, member] of memberships) {
      if (member?.role !== "owner" || (await members.hasOtherOwner(organization, member.user_id))) continue
      names.push((await organizations.byId(organization))?.name ?? organization)
    }
    if (names.length === 0) return
    const message = `You are the last owner of ${names.map((name) => `"${name}"`).join(", ")}. Make another member an owner first.`
    throw new AppError("failed_precondition", message, { reason: "last_owner" })
  }

  function dropStale(work: UnitOfWork, { id }: User, organization: string): void {
    users.removeOrganization(work, id, organization)
  }
}
