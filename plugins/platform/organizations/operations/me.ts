// The caller: identity, organizations and sign-in, and the organization of a session.
import { z } from "zod"
import { type AnyCaller, AppError, defineOperation, resultOf, SlugOrId, Timestamp, Uuid } from "#core"
import { roles } from "#core/engine"
import { type User, UserSessions } from "../../identity/index.ts"
import { OrganizationName, Organizations, refuseOrganization, toReference } from "../directory.ts"
import { personalReach } from "../reach.ts"
import { Creation } from "../tenants/creation.ts"

const OwnOrganization = OrganizationName.extend({ role: z.enum(roles) })
/** Maximum in one response. `organizations.list` has pages. */
const maxShown = 200

export const getMe = defineOperation({
  name: "me.get",
  summary: "Read the caller's identity, organization and permissions.",
  description: "Every valid key may call it: every token has the scope me:read.",
  http: { method: "GET", path: "/v1/me" },
  access: { scope: "me:read", role: "guest", withoutOrganization: true, whilePaused: true },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: z.object({
    organization: OrganizationName.nullable().describe("null for a person whose session acts in no organization."),
    role: z.enum(roles).nullable().describe("null without an organization."),
    scopes: z.array(z.string()).nullable().describe("Scopes of a token, always with `me:read`; null: everything that the role allows."),
    credential: z.object({ id: z.string(), kind: z.string(), manager: z.boolean() }),
    sign_in: z
      .object({ method: z.enum(["email_code", "passkey", "oidc", "bootstrap"]), at: Timestamp, is_fresh: z.boolean() })
      .nullable()
      .describe("How and when the person signed in; null for a key and for a session opened with a key."),
    organizations: z.array(OwnOrganization).describe("Organizations of a person who signed in, at most 200; of a key its own one."),
    may_create_organizations: z.boolean().describe("Whether the settings permit the caller to create an organization."),
    user: z
      .object({ id: Uuid, email: z.string(), staff: z.boolean(), name: z.string() })
      .nullable()
      .describe("null for a service principal."),
  }),
  errors: [],
  inject: { organizations: Organizations, creation: Creation },
  async handle({ caller, deps: { organizations, creation } }) {
    const person = caller.user && (await organizations.user(caller.user.id))
    return {
      organization: caller.organization ?? null,
      role: caller.role ?? null,
      scopes: caller.scopes ? [...caller.scopes].sort() : null,
      credential: caller.credential,
      sign_in: caller.signIn ? { method: caller.signIn.method, at: caller.signIn.at, is_fresh: caller.signIn.isFresh } : null,
      may_create_organizations: creation.permits(caller),
      organizations: await organizationsOf(caller, person, organizations),
      user: caller.user ? { ...caller.user, name: person?.name ?? "" } : null,
    }
  },
})

export const switchOrganization = defineOperation({
  name: "me.switch_organization",
  summary: "Choose the organization in which the session acts from now on.",
  description: "A call with X-Organization-ID acts in another organization once. Open sockets of the session connect again.",
  http: { method: "POST", path: "/v1/me/organization" },
  access: { scope: "me:write", role: "guest", withoutOrganization: true, whilePaused: true },
  hints: { readOnly: false, destructive: false, idempotent: true },
  mcp: { absent: "A key acts in its own organization." },
  input: z.strictObject({ organization: SlugOrId.describe("Slug or UUID of an organization of the person.") }),
  output: z.object({ organization: OrganizationName, role: z.enum(roles) }),
  errors: ["invalid_argument", "not_found", "permission_denied", "aborted"],
  examples: [{ given: { me: "me.get" }, input: { organization: resultOf("me.organization.slug") } }],
  inject: { organizations: Organizations, sessions: UserSessions },
  async handle({ input, caller, deps: { organizations, sessions }, work }) {
    const organization = await organizations.find(input.organization)
    const session = caller.signIn && (await sessions.get(caller.credential.id))
    if (!session) {
      if (caller.organization && organization?.id === caller.organization.id)
        return { organization: toReference(organization), role: caller.role }
      const message = "organization: a key stays in its own organization. Sign in to switch."
      throw new AppError("permission_denied", message, { reason: "not_a_person" })
    }
    const membership = organization && (await personalReach(organizations, session.user_id, organization))
    if (!organization || !membership)
      return refuseOrganization(`organization: "${input.organization}" does not exist, or you are not a member.`)
    sessions.switchTo(work, session, organization.id)
    return { organization: toReference(organization), role: membership.role }
  },
})

async function organizationsOf({ signIn, organization, role }: AnyCaller, person: User | undefined, organizations: Organizations) {
  if (!signIn || !person) return organization ? [{ ...organization, role }] : []
  const memberships = person.organization_ids.slice(0, maxShown).map(async (id) => {
    const [memberOf, membership] = [await organizations.byId(id), await organizations.membership(id, person.id)]
    return memberOf && membership ? [{ ...toReference(memberOf), role: membership.role }] : []
  })
  return (await Promise.all(memberships)).flat().sort((a, b) => (a.slug < b.slug ? -1 : 1))
}
