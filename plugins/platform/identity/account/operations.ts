// A person's own account: changing the address and deleting the account.
import { z } from "zod"
import { Clock, defineOperation, JobQueue, resultOf, Timestamp, Uuid } from "#core"
import { isMailAddress, normalAddress } from "../../../people/email/index.ts"
import { SixDigits } from "../mailed-code.ts"
import { stageNotice } from "../person-mail.ts"
import { requirePerson, Users } from "../users.ts"
import { AddressChanges } from "./address-changes.ts"

const mcp = { absent: "A person changes the own account." }
const Address = z.string().trim().max(254).refine(isMailAddress, "is not an email address").transform(normalAddress)

export const changeAddress = defineOperation({
  name: "me.change_address",
  summary: "Ask for another address of the own account: the new address gets a code.",
  description:
    "The old address gets a notice and holds until me.confirm_address. The code works for ten minutes and five tries. The answer is the same for an address of another user, which gets no code.",
  http: { method: "POST", path: "/v1/me/address" },
  access: { scope: "me:write", role: "guest", withoutOrganization: true, freshSignIn: true },
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: "by_job" },
  mcp,
  auditSize: ["email"],
  input: z.strictObject({ email: Address }),
  output: z.object({ expires_at: Timestamp.describe("End of the code.") }),
  errors: ["invalid_argument", "permission_denied", "resource_exhausted", "aborted"],
  examples: [{ input: { email: "ada.lovelace@example.com" } }],
  inject: { changes: AddressChanges, users: Users },
  async handle({ input: { email }, caller, work, deps: { changes, users } }) {
    const { user } = await requirePerson(caller, users, "me.change_address")
    return await changes.request(work, user, email)
  },
})

export const confirmAddress = defineOperation({
  name: "me.confirm_address",
  summary: "Change the address of the own account with the code that the new address got.",
  description: "The person's other sessions end. Keys and pending invitations stay as they are.",
  http: { method: "POST", path: "/v1/me/address/confirm" },
  access: { scope: "me:write", role: "guest", withoutOrganization: true },
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: "by_job" },
  mcp,
  auditSize: ["code"],
  input: z.strictObject({ code: SixDigits.describe("Six digits.") }),
  output: z.object({ email: z.string() }),
  errors: ["invalid_argument", "permission_denied", "already_exists", "aborted"],
  examples: [{ input: { code: resultOf("address.code") } }],
  inject: { changes: AddressChanges, users: Users },
  async handle({ input: { code }, caller, work, deps: { changes, users } }) {
    const { user, session } = await requirePerson(caller, users, "me.confirm_address")
    return await changes.confirm(work, user, { code, session })
  },
})

export const deleteAccount = defineOperation({
  name: "me.delete",
  summary: "Delete the own account: the user, memberships, keys, sessions and passkeys.",
  description:
    "The last owner of an organization stays; the error names the organizations. Everything ends before the answer, on every node. Audit records keep the id of the user.",
  http: { method: "DELETE", path: "/v1/me" },
  access: { scope: "me:write", role: "guest", withoutOrganization: true, freshSignIn: true },
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: "by_job" },
  mcp,
  input: z.strictObject({}),
  output: z.object({ user_id: Uuid, deleted: z.literal(true) }),
  errors: ["failed_precondition", "permission_denied", "aborted"],
  examples: [{ input: {} }],
  inject: { users: Users, queue: JobQueue, clock: Clock },
  async handle({ caller, work, deps: { users, ...mail } }) {
    const { user } = await requirePerson(caller, users, "me.delete")
    await users.remove(work, user)
    stageNotice(work, mail, {
      to: user.email,
      heading: "Your account was deleted",
      intro: "Your memberships, keys, sessions and passkeys ended. This address can be invited again.",
      fields: [],
    })
    return { user_id: user.id, deleted: true as const }
  },
})
