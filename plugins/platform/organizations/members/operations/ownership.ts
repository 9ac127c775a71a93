// Ownership: offered by an owner, accepted by the new owner.
import { z } from "zod"
import { AppError, type Caller, defineList, defineOperation, resultOf, Timestamp, Uuid } from "#core"
import { roles } from "#core/engine"
import { requireInside } from "../members.ts"
import { Ownership, type OwnershipOffer, OwnershipOffersCollection } from "../ownership.ts"

const path = "/v1/ownership-offers"
const scope = "members:write"
const mcp = { absent: "A person decides who owns an organization." }

const Offer = z.object({
  from_user_id: Uuid,
  to_user_id: Uuid,
  stay_owner: z.boolean().describe("False: the offering owner becomes an admin."),
  created_at: Timestamp,
  expires_at: Timestamp,
})

export const offerOwnership = defineOperation({
  name: "ownership.offer",
  summary: "Offer the ownership of the organization to a member, who accepts within seven days.",
  description: "A second offer to a member replaces the first.",
  http: { method: "POST", path },
  access: { scope, role: "owner", closedToAgents: true, freshSignIn: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp,
  input: z.strictObject({
    user_id: Uuid,
    stay_owner: z.boolean().default(false).describe("False: the caller becomes an admin when the member accepts."),
  }),
  output: Offer,
  errors: ["invalid_argument", "not_found", "permission_denied", "aborted"],
  examples: [{ given: { organization: "members.list" }, input: { user_id: resultOf("organization.members.1.user_id") } }],
  inject: { ownership: Ownership },
  async handle({ input: { user_id, stay_owner }, caller, deps: { ownership }, work }) {
    const from_user_id = ownUser(caller)
    return toResource(await ownership.offer(work, caller.organization.id, { from_user_id, to_user_id: user_id, stay_owner }))
  },
  onConflict: async ({ error }) => error,
})

export const listOffers = defineList({
  name: "ownership.list_offers",
  summary: "List the open offers of ownership, newest first.",
  path,
  access: { scope: "members:read", role: "guest" },
  columns: ["to_user_id", "from_user_id", "stay_owner", "expires_at"],
  collection: OwnershipOffersCollection,
  sort: { created_at: -1 },
  // Owners see all offers. Others see their own.
  where: (_, { caller }) => (caller.role === "owner" ? {} : { to_user_id: caller.user?.id ?? "" }),
  items: { offers: Offer },
  view: toResource,
})

export const withdrawOffer = defineOperation({
  name: "ownership.withdraw",
  summary: "Withdraw an offer of ownership, as an owner, or decline it as its member.",
  http: { method: "DELETE", path: `${path}/{user_id}` },
  access: { scope, role: "guest", closedToAgents: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp,
  input: z.strictObject({ user_id: Uuid.describe("The member with the offer.") }),
  output: z.object({ user_id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found", "permission_denied", "aborted"],
  examples: [
    {
      given: {
        organization: "members.list",
        offer: { operation: "ownership.offer", input: { user_id: resultOf("organization.members.1.user_id") } },
      },
      input: { user_id: resultOf("offer.to_user_id") },
    },
  ],
  inject: { ownership: Ownership },
  async handle({ input: { user_id }, caller, deps: { ownership }, work }) {
    requireInside(caller)
    // Another person's offer is not found.
    const target = caller.role === "owner" ? user_id : caller.user?.id
    const offer = await ownership.require(caller.organization.id, target === user_id ? user_id : caller.credential.id)
    ownership.withdraw(work, caller.organization.id, offer)
    return { user_id, deleted: true as const }
  },
  onConflict: async ({ error }) => error,
})

export const acceptOwnership = defineOperation({
  name: "ownership.accept",
  summary: "Accept the ownership that an owner offered to the caller.",
  description: "The offering owner becomes an admin, or stays, as offered.",
  http: { method: "POST", path: "/v1/ownership-accept" },
  access: { scope, role: "guest", closedToAgents: true, freshSignIn: true },
  hints: { readOnly: false, destructive: true, idempotent: false },
  mcp,
  input: z.strictObject({}),
  output: z.object({ user_id: Uuid, role: z.enum(roles) }),
  errors: ["not_found", "permission_denied", "aborted"],
  inject: { ownership: Ownership },
  async handle({ caller, deps: { ownership }, work }) {
    const user_id = ownUser(caller)
    await ownership.accept(work, caller, await ownership.require(caller.organization.id, user_id))
    return { user_id, role: "owner" as const }
  },
  onConflict: async ({ error }) => error,
})

/** Throws `permission_denied` for a manager, and for a service key. */
function ownUser(caller: Caller): string {
  requireInside(caller)
  if (caller.user) return caller.user.id
  throw new AppError("permission_denied", "A person gives and takes ownership; this key has no user. Use a credential of an owner.", {
    reason: "credential_without_user",
  })
}

function toResource({ from_user_id, to_user_id, stay_owner, created_at, expires_at }: OwnershipOffer): z.input<typeof Offer> {
  return { from_user_id, to_user_id, stay_owner, created_at, expires_at }
}
