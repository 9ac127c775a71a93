// The members of the organization.
import { z } from "zod"
import { defineOperation, Pager, pageInput, Store, Timestamp, Uuid } from "#core"
import { roles } from "#core/engine"
import { Users } from "../../identity/index.ts"
import { MembershipsCollection } from "../collections.ts"

export const listMembers = defineOperation({
  name: "members.list",
  summary: "List the members of the organization, with their roles.",
  http: { method: "GET", path: "/v1/members" },
  access: { scope: "members:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(pageInput),
  output: z.object({
    members: z.array(
      z.object({ user_id: Uuid, email: z.string(), name: z.string(), role: z.enum(roles), staff: z.boolean(), created_at: Timestamp }),
    ),
    next_cursor: z.string(),
  }),
  errors: ["invalid_argument"],
  inject: { store: Store, pager: Pager, users: Users },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const collection = deps.store.open(MembershipsCollection, organization)
    const page = await deps.pager.page({
      collection,
      organization,
      cursorScope: "members",
      filter: {},
      sort: { user_id: 1 },
      request: input,
    })
    const users = await deps.users.findMany(page.items.map((member) => member.user_id))
    const byId = new Map(users.map((user) => [user.id, user]))
    const members = page.items.flatMap(({ user_id, role, created_at }) => {
      const user = byId.get(user_id)
      return user ? [{ user_id, email: user.email, name: user.name, role, staff: user.staff, created_at }] : []
    })
    return { members, next_cursor: page.next_cursor }
  },
})
