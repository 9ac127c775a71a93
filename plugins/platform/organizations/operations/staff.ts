// Staff of the service: marked by an owner of the service's own organization, the oldest organization.
import { z } from "zod"
import { AppError, type Caller, defineOperation, resultOf, Uuid } from "#core"
import type { User } from "../../identity/index.ts"
import { Organizations } from "../directory.ts"

export const setStaff = defineOperation({
  name: "members.set_staff",
  summary: "Mark a user as staff of the service, or take the mark away.",
  description:
    "Needs an owner of the service's own organization, who can name any user. Others can give up their own mark. Users named by plugins.settings.organizations.staff stay staff in any case.",
  http: { method: "PUT", path: "/v1/members/{user_id}/staff" },
  access: { scope: "members:write", role: "owner", closedToAgents: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp: { absent: "A person decides who is staff." },
  input: z.strictObject({ user_id: Uuid, staff: z.boolean() }),
  output: z.object({ user_id: Uuid, staff: z.boolean().describe("As it holds now, by mark or by configuration.") }),
  errors: ["not_found", "permission_denied"],
  examples: [{ given: { me: "me.get" }, input: { user_id: resultOf("me.user.id"), staff: true } }],
  inject: { organizations: Organizations },
  async handle({ input: { user_id, staff }, caller, deps: { organizations }, work }) {
    const isServiceOwner = (await organizations.first()).id === caller.organization.id
    const user = await reachable(organizations, caller, user_id, isServiceOwner)
    if (user.staff === staff) return { user_id, staff }
    if (!isServiceOwner && !(caller.user?.id === user_id && !staff)) {
      throw new AppError("permission_denied", "Staff are marked by an owner of the service's own organization; ask one of them.", {
        reason: "not_service_owner",
      })
    }
    organizations.setStaff(work, user_id, staff)
    return { user_id, staff: organizations.isStaff({ ...user, staff }) }
  },
})

async function reachable(organizations: Organizations, caller: Caller, id: string, includeAll: boolean): Promise<User> {
  const isMember = includeAll || (await organizations.membership(caller.organization.id, id)) !== undefined
  const user = isMember ? await organizations.user(id) : undefined
  if (user) return user
  throw new AppError("not_found", `The organization has no member ${id}; GET /v1/members lists them.`, { reason: "member_not_found" })
}
