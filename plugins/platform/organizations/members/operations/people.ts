// Changes of members: the role, the removal by an admin, and leaving.
import { z } from "zod"
import { type Caller, defineOperation, resultOf, Uuid } from "#core"
import { requireFreshSignIn, roles } from "#core/engine"
import type { Membership } from "../../collections.ts"
import { Members, type Removal, requireInside } from "../members.ts"

const path = "/v1/members/{user_id}"
const scope = "members:write"
const mcp = { absent: "A person decides who belongs to an organization." }

const Departed = z.object({
  user_id: Uuid,
  removed: z.literal(true),
  ended_keys: z.int().describe("Keys and tokens of the person in this organization, and sessions opened with them."),
  left: z
    .array(
      z.object({
        kind: z.string().describe("Such as `heartbeat` or `integration`."),
        id: Uuid,
        name: z.string(),
        operation: z.string().describe("An admin calls this operation with the id, and takes the resource over."),
      }),
    )
    .describe("Paused heartbeats and private connections of the person."),
})

export const changeRole = defineOperation({
  name: "members.change_role",
  summary: "Change the role of a member.",
  description:
    "Admins change guests, members and admins. Only owners change owners, after a fresh sign-in. The last owner stays. The new role holds for every key and open connection of the member before the answer.",
  http: { method: "PATCH", path },
  access: { scope, role: "admin", closedToAgents: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp,
  input: z.strictObject({ user_id: Uuid, role: z.enum(roles) }),
  output: z.object({ user_id: Uuid, role: z.enum(roles) }),
  errors: ["invalid_argument", "not_found", "permission_denied", "failed_precondition", "aborted"],
  examples: [{ given: { organization: "members.list" }, input: { user_id: resultOf("organization.members.1.user_id"), role: "member" } }],
  inject: { members: Members },
  async handle({ input: { user_id, role }, caller, deps: { members }, work }) {
    const member = await members.require(caller.organization.id, user_id)
    await requireRight(members, caller, member, "members.change_role")
    await members.requireRank(caller, role, `The role ${role}`)
    if (role === "owner" && member.role !== "owner") requireFreshSignIn(caller, "members.change_role")
    await members.changeRole(work, caller.organization.id, member, role)
    return { user_id, role }
  },
  onConflict: async ({ error }) => error,
})

export const removeMember = defineOperation({
  name: "members.remove",
  summary: "Remove a member from the organization.",
  description:
    "Keys, sessions, sockets, upload links and viewer tokens of the person end before the answer, on every node. Heartbeats and private connections pause; `left` lists them. Pending requests are rejected. Pipelines, pages, shared connections and service keys continue.",
  http: { method: "DELETE", path },
  access: { scope, role: "admin", closedToAgents: true },
  hints: { readOnly: false, destructive: true, idempotent: false },
  mcp,
  input: z.strictObject({ user_id: Uuid }),
  output: Departed,
  errors: ["not_found", "permission_denied", "failed_precondition", "aborted"],
  examples: [{ given: { organization: "members.list" }, input: { user_id: resultOf("organization.members.1.user_id") } }],
  inject: { members: Members },
  async handle({ input: { user_id }, caller, deps: { members }, work }) {
    const member = await members.require(caller.organization.id, user_id)
    await requireRight(members, caller, member, "members.remove")
    return toDeparture(member, await members.remove(work, caller.organization.id, member))
  },
  onConflict: async ({ error }) => error,
})

export const leave = defineOperation({
  name: "members.leave",
  summary: "Leave the organization.",
  description: "As a removal by an admin. The last owner stays. Also the credential of this call ends.",
  http: { method: "POST", path: "/v1/members-leave" },
  access: { scope, role: "guest", closedToAgents: true },
  hints: { readOnly: false, destructive: true, idempotent: false },
  mcp,
  input: z.strictObject({}),
  output: Departed,
  errors: ["not_found", "permission_denied", "failed_precondition", "aborted"],
  inject: { members: Members },
  async handle({ caller, deps: { members }, work }) {
    requireInside(caller)
    const member = await members.require(caller.organization.id, caller.user?.id ?? caller.credential.id)
    if (member.role === "owner") requireFreshSignIn(caller, "members.leave")
    return toDeparture(member, await members.remove(work, caller.organization.id, member))
  },
  onConflict: async ({ error }) => error,
})

/** Throws `permission_denied` for a manager, for a lower role, and for owners without a fresh sign-in. */
async function requireRight(members: Members, caller: Caller, member: Membership, operation: string): Promise<void> {
  requireInside(caller)
  await members.requireRank(caller, member.role, `A change of an ${member.role}`)
  if (member.role === "owner") requireFreshSignIn(caller, operation)
}

function toDeparture({ user_id }: Membership, { keys, left }: Removal): z.input<typeof Departed> {
  return { user_id, removed: true, ended_keys: keys, left: [...left] }
}
