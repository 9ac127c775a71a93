// Managed organizations: lists both sides of a link. A link is offered, accepted, adopted and ended here.
import { z } from "zod"
import {
  AppError,
  type Caller,
  defineOperation,
  Pager,
  pageInput,
  resultOf,
  SlugOrId,
  Store,
  Timestamp,
  Uuid,
  wholeListInput,
  wholeListPage,
} from "#core"
import { type Invitation, InvitationsCollection, type Organization, OrganizationsCollection } from "../collections.ts"
import { OrganizationName, Organizations, refuseOrganization, requireOrganization, requireOwned, toReference } from "../directory.ts"
import { Management } from "../management.ts"
import { IncludeArchived } from "../tenants/organizations.ts"

const path = "/v1/managed-organizations"
const invitations = "/v1/managed-organization-invitations"
const reading = { scope: "managed_organizations:read", role: "guest" } as const
const writing = { scope: "managed_organizations:write", closedToAgents: true } as const
const mcp = { absent: "A person decides which organization manages another." }
const Role = z.enum(["guest", "member", "admin"]).describe("The most that the manager's keys may do in the managed organization.")
const Link = OrganizationName.extend({ role: z.string(), created_at: z.string() })
const InvitationResource = z.object({ id: Uuid, role: Role, note: z.string(), created_at: Timestamp, expires_at: Timestamp })

export const listManaged = defineOperation({
  name: "managed_organizations.list",
  summary: "List the managed organizations, those of the caller that could be adopted, and who manages this one.",
  http: { method: "GET", path },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  mcp: { listed: true },
  input: z.strictObject({
    ...wholeListInput,
    include_archived: IncludeArchived,
  }),
  output: z.object({
    organizations: z.array(Link).describe("By slug."),
    next_cursor: z.string(),
    adoptable_organizations: z
      .array(OrganizationName)
      .describe("What the caller owns and nobody manages; empty for service principals and guests."),
    managed_by: Link.nullable().describe("The organization that manages this one, and the role that its keys have here."),
  }),
  errors: ["invalid_argument"],
  inject: { organizations: Organizations, store: Store, pager: Pager },
  async handle({ input, caller, deps: { organizations, store, pager } }) {
    const organization = caller.organization.id
    const managed = await pager.page({
      collection: store.open(OrganizationsCollection),
      organization,
      cursorScope: `managed_organizations.list${input.include_archived ? " with archived" : ""}`,
      filter: { "managed_by.id": organization, ...(input.include_archived ? {} : { archived: null }) },
      sort: { slug: 1 },
      request: wholeListPage(input, caller.surface),
    })
    const ownOrganization = await organizations.byId(caller.organization.id)
    const manager = ownOrganization?.managed_by ? await organizations.byId(ownOrganization.managed_by.id) : undefined
    return {
      organizations: managed.items.map((client) => linkOf(client, client.managed_by)),
      next_cursor: managed.next_cursor,
      adoptable_organizations: (await adoptable(caller, organizations)).map(toReference),
      managed_by: manager && ownOrganization ? linkOf(manager, ownOrganization.managed_by) : null,
    }
  },
})

export const inviteManaged = defineOperation({
  name: "managed_organizations.invite",
  summary: "Offer to manage an organization; the code is shown once, and any owner of one can accept it.",
  description: "Hand the code to the owner of the organization. It is valid once, for 14 days.",
  http: { method: "POST", path: invitations },
  access: { ...writing, role: "admin" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  mcp,
  input: z.strictObject({ role: Role, note: z.string().trim().max(200).default("").describe("For yourself: whom it is for.") }),
  output: InvitationResource.extend({ code: z.string().describe("Shown once.") }),
  errors: ["invalid_argument", "permission_denied"],
  secretOutput: ["code"],
  examples: [{ input: { role: "member", note: "Bakery" } }],
  inject: { management: Management },
  handle({ input, caller, deps, work }) {
    requireOwn(caller)
    const { invitation, code } = deps.management.invite(work, caller.organization.id, input)
    return { ...toResource(invitation), code }
  },
})

export const listInvitations = defineOperation({
  name: "managed_organizations.list_invitations",
  summary: "List the invitations that nobody has accepted, newest first.",
  http: { method: "GET", path: invitations },
  access: { scope: reading.scope, role: "admin" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["note", "role", "expires_at", "id"],
  input: z.strictObject(pageInput),
  output: z.object({ invitations: z.array(InvitationResource), next_cursor: z.string() }),
  errors: ["invalid_argument"],
  inject: { store: Store, pager: Pager },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const page = await deps.pager.page({
      collection: deps.store.open(InvitationsCollection),
      organization,
      cursorScope: "managed_organizations.list_invitations",
      filter: { manager_id: organization },
      sort: { id: -1 },
      request: input,
    })
    return { invitations: page.items.map(toResource), next_cursor: page.next_cursor }
  },
})

export const revokeInvitation = defineOperation({
  name: "managed_organizations.revoke_invitation",
  summary: "Revoke an invitation that nobody has accepted.",
  http: { method: "DELETE", path: `${invitations}/{id}` },
  access: { ...writing, role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp,
  input: z.strictObject({ id: Uuid }),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found", "permission_denied", "aborted"],
  examples: [{ given: { invitation: "managed_organizations.invite" }, input: { id: resultOf("invitation.id") } }],
  inject: { management: Management },
  async handle({ input, caller, deps, work }) {
    requireOwn(caller)
    const { id } = await deps.management.invitation(caller.organization.id, input.id)
    work.in(InvitationsCollection).remove(id)
    return { id, deleted: true as const }
  },
})

/** An organization of the caller's user without a manager. */
const mine = resultOf("managed.adoptable_organizations.0.id")

export const acceptManager = defineOperation({
  name: "managed_organizations.accept",
  summary: "Accept an invitation: the organization that made it manages this one, or another of the signed-in person, from now on.",
  http: { method: "POST", path: `${path}-accept` },
  access: { ...writing, role: "owner" },
  hints: { readOnly: false, destructive: true, idempotent: false },
  mcp,
  input: z.strictObject({
    code: z.string().min(1).max(200),
    organization: SlugOrId.optional().describe("Slug or UUID of an organization that the signed-in person owns; this one if absent."),
  }),
  output: z.object({ managed_organization: OrganizationName, managed_by: Link }),
  errors: ["invalid_argument", "not_found", "permission_denied", "failed_precondition", "aborted"],
  examples: [
    {
      given: { managed: "managed_organizations.list", invitation: "managed_organizations.invite" },
      input: { code: resultOf("invitation.code"), organization: mine },
    },
  ],
  inject: { organizations: Organizations, management: Management },
  async handle({ input: { code, organization }, caller, deps: { organizations, management }, work }) {
    requireOwn(caller)
    const managed = await requireOwned(organizations, caller, organization ?? caller.organization.id)
    const { manager, role, at } = await management.accept(work, managed, code)
    return { managed_organization: toReference(managed), managed_by: linkOf(manager, { role, since: at }) }
  },
  onConflict: async ({ error }) => error,
})

export const adoptManaged = defineOperation({
  name: "managed_organizations.adopt",
  summary: "Have this organization manage another one that the signed-in person owns too.",
  description: "A key decides for its own organization alone: invite with a key of the manager, accept with a key of the other.",
  http: { method: "POST", path: `${path}-adopt` },
  access: { ...writing, role: "owner" },
  hints: { readOnly: false, destructive: true, idempotent: false },
  mcp,
  input: z.strictObject({ organization: SlugOrId.describe("Slug or UUID; one of `adoptable_organizations`."), role: Role }),
  output: Link,
  errors: ["invalid_argument", "not_found", "permission_denied", "failed_precondition", "aborted"],
  examples: [{ given: { managed: "managed_organizations.list" }, input: { organization: mine, role: "member" } }],
  inject: { organizations: Organizations, management: Management },
  async handle({ input, caller, deps: { organizations, management }, work }) {
    requireOwn(caller)
    const manager = await requireOrganization(organizations, caller.organization.id)
    const managed = await requireOwned(organizations, caller, input.organization)
    const since = management.link(work, manager, managed, input.role)
    return linkOf(managed, { role: input.role, since })
  },
  onConflict: async ({ error }) => error,
})

export const endManaged = defineOperation({
  name: "managed_organizations.end",
  summary: "End the management of an organization, from either side.",
  description:
    "Once it is answered, no node takes the manager's keys in the managed organization, and the keys that they made there are revoked.",
  http: { method: "DELETE", path: `${path}/{organization}` },
  access: { ...writing, role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp,
  input: z.strictObject({
    organization: SlugOrId.describe("Slug or UUID of the managed organization; or of the manager, to be managed no more."),
  }),
  output: z.object({ managed_organization: OrganizationName, manager: OrganizationName, ended: z.literal(true) }),
  errors: ["not_found", "permission_denied", "aborted"],
  examples: [
    {
      given: {
        managed: "managed_organizations.list",
        link: { operation: "managed_organizations.adopt", input: { organization: mine, role: "member" } },
      },
      input: { organization: resultOf("link.id") },
    },
  ],
  inject: { organizations: Organizations, management: Management },
  async handle({ input, caller, deps: { organizations, management }, work }) {
    requireOwn(caller)
    const organization = await requireOrganization(organizations, caller.organization.id)
    const otherOrganization = await organizations.find(input.organization)
    const [manager, managed] =
      otherOrganization?.managed_by?.id === organization.id ? [organization, otherOrganization] : [otherOrganization, organization]
    if (!manager || managed.managed_by?.id !== manager.id)
      return refuseOrganization(`organization: "${input.organization}" neither manages this organization nor is managed by it.`)
    await management.end(work, managed, manager.id)
    return { managed_organization: toReference(managed), manager: toReference(manager), ended: true as const }
  },
  onConflict: async ({ error }) => error,
})

/** Only keys of the organization itself decide on its management. */
function requireOwn({ manager, credential, organization }: Caller): void {
  if (manager === undefined && !credential.manager) return
  const credentialName = manager === undefined ? "A manager key" : `A key of "${manager.slug}"`
  const message = `${credentialName} cannot decide who manages whom in "${organization.slug}"; use a key of the organization that is not a manager key.`
  throw new AppError("permission_denied", message, { reason: "acts_for_client" })
}

/** Returns organizations owned by the caller's user without a manager. Empty for service principals and guests. */
async function adoptable(caller: Caller, organizations: Organizations): Promise<Organization[]> {
  if (!caller.user || caller.credential.manager || caller.role === "guest") return []
  const user = await organizations.user(caller.user.id)
  const adoptableOrganizations: Organization[] = []
  for (const id of user?.organization_ids ?? []) {
    if (id === caller.organization.id) continue
    const membership = await organizations.membership(id, caller.user.id)
    const organization = membership?.role === "owner" ? await organizations.byId(id) : undefined
    if (organization && organization.managed_by === null) adoptableOrganizations.push(organization)
  }
  return adoptableOrganizations
}

function linkOf(organization: Organization, link: { role: string; since: string } | null) {
  return { ...toReference(organization), role: link?.role ?? "", created_at: link?.since ?? "" }
}

function toResource({ id, role, note, created_at, expires_at }: Invitation) {
  return { id, role: role as z.input<typeof Role>, note, created_at, expires_at }
}
