// Changes the caller's own name. The first owner also sets the address, once.
import { z } from "zod"
import { AppError, defineOperation, Name, Store, Uuid } from "#core"
import { isMailAddress, normalAddress } from "../../../people/email/index.ts"
import { claim, isUnclaimed, Users, userOf } from "../users.ts"

export const updateMe = defineOperation({
  name: "me.update",
  summary: "Change the caller's own name; the first owner sets an address too.",
  description: "The first owner has no address before this call or the first sign-in. Another address needs a proof by mail.",
  http: { method: "PATCH", path: "/v1/me" },
  access: { scope: "me:write", role: "guest", withoutOrganization: true, freshSignIn: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp: { absent: "A person changes the own name and address." },
  input: z.strictObject({
    name: Name.optional(),
    email: z.string().trim().max(320).refine(isMailAddress, "an email address").transform(normalAddress).optional(),
  }),
  output: z.object({ id: Uuid, name: z.string(), email: z.string() }),
  errors: ["invalid_argument", "permission_denied", "failed_precondition", "already_exists", "aborted"],
  examples: [{ input: { name: "Ada Lovelace" } }],
  inject: { users: Users, store: Store },
  async handle({ input: { name, email }, caller, deps: { users }, work }) {
    const userId = userOf(caller)
    const user = await users.get(userId)
    if (!user) throw new AppError("permission_denied", "The user of this credential does not exist.", { reason: "no_person" })
    if (email === undefined || email === user.email) {
      if (name !== undefined) users.update(work, userId, { name })
      return { id: userId, name: name ?? user.name, email: user.email }
    }
    if (!isUnclaimed(user)) {
      const message = `email: your address is "${user.email}"; another one needs a proof by mail.`
      throw new AppError("failed_precondition", message, { reason: "address_needs_proof" })
    }
    const claimed = await claim(work, users, user, { name: name ?? user.name, email })
    return { id: userId, name: claimed.name, email: claimed.email }
  },
})
