// Invitations of members: creation, list, resending, revocation, and acceptance by a signed-in person.
import { z } from "zod"
import { type AnyCaller, AppError, type Caller, defineList, defineOperation, resultOf, Timestamp, Uuid } from "#core"
import { type Role, requireFreshSignIn, roles } from "#core/engine"
import { isMailAddress, normalAddress } from "../../../../people/email/index.ts"
import { requirePerson, UserSessions, Users } from "../../../identity/index.ts"
import { OrganizationName, toReference } from "../../directory.ts"
import { actIn } from "../../reach.ts"
import { type MemberInvitation, MemberInvitationsCollection } from "../invitations/collections.ts"
import { Invitations, type SentInvitation } from "../invitations/invitations.ts"
import { Joining } from "../invitations/joining.ts"
import { Members, requireInside } from "../members.ts"

const path = "/v1/member-invitations"
const scope = "members:write"
const mcp = { absent: "A person decides who belongs to an organization." }
const Address = z
  .string()
  .trim()
  .max(320)
  .refine(isMailAddress, "expected one mail address, such as ada@example.com")
  .describe("The invitation works for this address alone.")

const Invitation = z.object({
  id: Uuid,
  email: z.string(),
  role: z.enum(roles),
  invited_by: Uuid.nullable().describe("User; null for a service key."),
  created_at: Timestamp,
  sent_at: Timestamp.describe("When the valid link was made."),
  expires_at: Timestamp,
})
const WithLink = Invitation.extend({
  link: z.string().nullable().describe("Shown once, if mail goes to the outbox folder of the service. Null if the person gets it by mail."),
})

export const inviteMember = defineOperation({
  name: "members.invite",
  summary: "Invite a person by email. The link works once, for seven days, for this address alone.",
  description:
    "At most the caller's role. Only owners invite owners, after a fresh sign-in. A second invitation of an address replaces the link and the role of the first.",
  http: { method: "POST", path },
  access: { scope, role: "admin", closedToAgents: true },
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: "by_job" },
  mcp,
  input: z.strictObject({ email: Address, role: z.enum(roles).default("member") }),
  output: WithLink,
  errors: ["invalid_argument", "permission_denied", "failed_precondition", "resource_exhausted", "aborted"],
  secretOutput: ["link"],
  examples: [{ input: { email: "grace@example.com", role: "admin" } }],
  inject: { invitations: Invitations, members: Members },
  async handle({ input, caller, deps: { invitations, members }, work }) {
    const email = normalAddress(input.email)
    await requireRight(members, caller, input.role, "members.invite")
    const before = await invitations.find(caller.organization.id, email)
    if (before) await requireRight(members, caller, before.role, "members.invite")
    return toSentResource(await invitations.invite(work, caller, email, input.role))
  },
  onConflict: async ({ error }) => error,
})

export const listMemberInvitations = defineList({
  name: "member_invitations.list",
  summary: "List the open invitations of members, newest first.",
  path,
  access: { scope: "members:read", role: "admin" },
  columns: ["email", "role", "expires_at", "id"],
  collection: MemberInvitationsCollection,
  sort: { created_at: -1 },
  items: { invitations: Invitation },
  view: toResource,
})

export const resendInvitation = defineOperation({
  name: "member_invitations.resend",
  summary: "Mail a new link, valid for seven days. The old link ends.",
  http: { method: "POST", path: `${path}/{id}/resend` },
  access: { scope, role: "admin", closedToAgents: true },
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: "by_job" },
  mcp,
  input: z.strictObject({ id: Uuid }),
  output: WithLink,
  errors: ["not_found", "permission_denied", "resource_exhausted", "aborted"],
  secretOutput: ["link"],
  examples: [{ given: { invitation: "members.invite" }, input: { id: resultOf("invitation.id") } }],
  inject: { invitations: Invitations, members: Members },
  async handle({ input, caller, deps: { invitations, members }, work }) {
    const invitation = await invitations.require(caller.organization.id, input.id)
    await requireRight(members, caller, invitation.role, "member_invitations.resend")
    return toSentResource(await invitations.resend(work, caller, invitation))
  },
  onConflict: async ({ error }) => error,
})

export const revokeMemberInvitation = defineOperation({
  name: "member_invitations.revoke",
  summary: "Revoke an open invitation. Its link ends.",
  http: { method: "DELETE", path: `${path}/{id}` },
  access: { scope, role: "admin", closedToAgents: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp,
  input: z.strictObject({ id: Uuid }),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found", "permission_denied", "aborted"],
  examples: [{ given: { invitation: "members.invite" }, input: { id: resultOf("invitation.id") } }],
  inject: { invitations: Invitations, members: Members },
  async handle({ input, caller, deps: { invitations, members }, work }) {
    const invitation = await invitations.require(caller.organization.id, input.id)
    await requireRight(members, caller, invitation.role, "member_invitations.revoke")
    invitations.revoke(work, caller.organization.id, invitation)
    return { id: invitation.id, deleted: true as const }
  },
  onConflict: async ({ error }) => error,
})

export const acceptInvitation = defineOperation({
  name: "member_invitations.accept",
  summary: "Join the organization of an invitation, as the signed-in person.",
  description:
    "Give the code of the link, or an id from me.list_invitations. The invited address must be the address of the user. A new person opens the link in a browser. A link that the inviter saw needs a sign-in by mailed code first.",
  http: { method: "POST", path: `${path}-accept` },
  access: { scope, role: "guest", withoutOrganization: true, closedToAgents: true },
  hints: { readOnly: false, destructive: false, idempotent: false },
  mcp,
  input: z.strictObject({
    code: z.string().min(1).max(200).optional().describe("From the link: the text after `#code=`; or give `id`."),
    id: Uuid.optional().describe("Of one of your open invitations; or give `code`. Needs a sign-in by mail or passkey."),
  }),
  output: z.object({ organization: OrganizationName, role: z.enum(roles) }),
  errors: ["invalid_argument", "not_found", "permission_denied", "failed_precondition", "resource_exhausted", "aborted"],
  examples: [{ input: { code: resultOf("invitation.code") } }],
  inject: { joining: Joining, users: Users, sessions: UserSessions },
  async handle({ input: { code, id }, caller, deps: { joining, users, sessions }, work }) {
    const person = caller.user && (await users.get(caller.user.id))
    const proof = { isPerson: caller.scopes === undefined, isSignedIn: isSignedIn(caller) }
    const invitation =
      id === undefined ? await joining.open(onlyOne(code), caller.credential.id) : await joining.openOwn(onlyOne(id, code), person, proof)
    const user = joining.requirePerson(invitation, person, proof)
    await joining.join(work, invitation, user, { credentialId: caller.credential.id, requestId: caller.requestId })
    await actIn(work, caller, invitation.organization.id, sessions)
    return { organization: toReference(invitation.organization), role: invitation.invitation.role }
  },
  onConflict: async ({ error }) => error,
})

export const listOwnInvitations = defineOperation({
  name: "me.list_invitations",
  summary: "List the open invitations for the caller's own address, in every organization.",
  description: "member_invitations.accept joins with the id of one.",
  http: { method: "GET", path: "/v1/me/invitations" },
  access: { scope: "me:read", role: "guest", withoutOrganization: true },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["organization", "role", "expires_at", "id"],
  mcp: { absent: "A person joins organizations." },
  input: z.strictObject({}),
  output: z.object({
    invitations: z.array(
      Invitation.pick({ id: true, role: true, sent_at: true, expires_at: true }).extend({ organization: OrganizationName }),
    ),
  }),
  errors: ["permission_denied"],
  inject: { joining: Joining, users: Users },
  async handle({ caller, deps: { joining, users } }) {
    const { user } = await requirePerson(caller, users, "me.list_invitations")
    const open = await joining.openFor(user.email)
    return {
      invitations: open.map(({ organization, invitation: { id, role, sent_at, expires_at } }) => {
        return { id, role, sent_at, expires_at, organization: toReference(organization) }
      }),
    }
  },
})

/** Throws `invalid_argument` unless exactly one value is set. */
function onlyOne(value: string | undefined, alternative?: string): string {
  if (value !== undefined && alternative === undefined) return value
  const fields = [{ path: "code", message: "give either code or id" }]
  throw new AppError("invalid_argument", "code: give either code or id.", { reason: "invalid_fields", fields })
}

/** The first start's link does not verify an address. */
function isSignedIn({ signIn }: AnyCaller): boolean {
  return signIn !== undefined && signIn.method !== "bootstrap"
}

/** Throws `permission_denied` for a manager, for a role above the caller's, and for owners without a fresh sign-in. */
async function requireRight(members: Members, caller: Caller, role: Role, operation: string): Promise<void> {
  requireInside(caller)
  await members.requireRank(caller, role, `An invitation as ${role}`)
  if (role === "owner") requireFreshSignIn(caller, operation)
}

function toSentResource({ invitation, link }: SentInvitation): z.input<typeof WithLink> {
  return { ...toResource(invitation), link }
}

function toResource({ id, email, role, invited_by, created_at, sent_at, expires_at }: MemberInvitation): z.input<typeof Invitation> {
  return { id, email, role, invited_by: invited_by.user_id, created_at, sent_at, expires_at }
}
