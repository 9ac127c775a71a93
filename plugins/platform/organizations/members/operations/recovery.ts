// Recovery of a member's account by an owner: after a stolen device or a lost passkey.
import { z } from "zod"
import { AppError, defineOperation, resultOf, Uuid } from "#core"
import { isMailAddress, normalAddress } from "../../../../people/email/index.ts"
import { Recovery, Users } from "../../../identity/index.ts"
import { Members, requireInside } from "../members.ts"

const Address = z.string().trim().max(254).refine(isMailAddress, "is not an email address").transform(normalAddress)

export const recoverMember = defineOperation({
  name: "members.recover",
  summary: "Reset the sign-ins of a member: sessions end, passkeys are removed, and a mail asks the person to sign in again.",
  description:
    "For a stolen device or a lost passkey. Sign-ins end in every organization of the person. The person signs in by mail. The caller gets no session. Keys continue until api_keys.revoke. With `--operator`, the operator resets the sign-ins of any person.",
  http: { method: "POST", path: "/v1/members-recover" },
  access: { scope: "members:write", role: "owner", closedToAgents: true, freshSignIn: true, operator: {} },
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: "by_job" },
  mcp: { absent: "A person decides about the sign-ins of others." },
  input: z.strictObject({
    user_id: Uuid.optional().describe("The member; or give `email`."),
    email: Address.optional().describe("The member's address; or give `user_id`."),
  }),
  output: z.object({ user_id: Uuid, ended_sessions: z.int(), removed_passkeys: z.int() }),
  errors: ["invalid_argument", "not_found", "permission_denied", "aborted"],
  examples: [{ given: { organization: "members.list" }, input: { user_id: resultOf("organization.members.0.user_id") } }],
  inject: { members: Members, users: Users, recovery: Recovery },
  async handle({ input, caller, work, deps: { members, users, recovery } }) {
    const user = await findTarget(input, users)
    requireInside(caller)
    await members.requireRank(caller, "owner", "members.recover")
    const member = user && (await members.find(caller.organization.id, user.id))
    const isOperator = caller.operator !== undefined
    if (!user || !(member || isOperator)) {
      const message = `The organization has no member ${input.user_id ?? input.email}; GET /v1/members lists them.`
      throw new AppError("not_found", message, { reason: "member_not_found" })
    }
    const by = isOperator ? "The operator of the service" : `An owner of ${caller.organization.name}`
    return { user_id: user.id, ...(await recovery.recover(work, user, by)) }
  },
})

async function findTarget({ user_id, email }: { user_id?: string | undefined; email?: string | undefined }, users: Users) {
  if (user_id !== undefined && email === undefined) return await users.get(user_id)
  if (email !== undefined && user_id === undefined) return await users.byEmail(email)
  const fields = [{ path: "user_id", message: "give either user_id or email" }]
  throw new AppError("invalid_argument", "user_id: give either user_id or email.", { reason: "invalid_fields", fields })
}
