// Creates organizations and lists the caller's organizations.
import { z } from "zod"
import { type AnyCaller, AppError, defineOperation, Name, Pager, pageInput, resultOf, Slug, Store } from "#core"
import { requireFreshSignIn, roles } from "#core/engine"
import { UserSessions } from "../../identity/index.ts"
import { ApiKeys } from "../api-keys.ts"
import { OrganizationsCollection } from "../collections.ts"
import { Organizations } from "../directory.ts"
import { actIn } from "../reach.ts"
import { Creation, slugOfAnother } from "./creation.ts"
import { OrganizationResource, TimeZone, toResource } from "./organization.ts"

/** Archived organizations are hidden from lists. */
export const IncludeArchived = z.boolean().default(false).describe("Whether archived organizations are listed too.")

const path = "/v1/organizations"
const OwnOrganization = OrganizationResource.extend({ role: z.enum(roles).describe("The caller's role there.") })

export const createOrganization = defineOperation({
  name: "organizations.create",
  summary: "Create an organization; the caller's user becomes its owner.",
  description:
    "plugins.settings.organizations.self_service permits owners by default. A key acts in its own organization, so `first_key` creates a key of the new organization.",
  http: { method: "POST", path },
  access: { scope: "organizations:write", role: "guest", withoutOrganization: true, closedToAgents: true, operator: { fields: ["owner"] } },
  hints: { readOnly: false, destructive: false, idempotent: false },
  mcp: { absent: "A person decides whether an organization is created." },
  input: z.strictObject({
    name: Name,
    slug: Slug.optional().describe("Derived from the name if absent."),
    time_zone: TimeZone.default("UTC"),
    owner: z
      .email()
      .max(254)
      .toLowerCase()
      .optional()
      .describe("Address of the owner; for the operator alone. A new address becomes a user."),
    first_key: z.boolean().default(false).describe("Whether to create an owner's API key of the new organization too; it is shown once."),
  }),
  output: OwnOrganization.extend({ secret: z.string().optional().describe("The first key, shown once; absent unless asked for.") }),
  secretOutput: ["secret"],
  errors: ["invalid_argument", "permission_denied", "already_exists", "resource_exhausted", "aborted"],
  examples: [{ given: { own: "organization.get" }, input: { name: resultOf("own.name"), time_zone: "Europe/Berlin" } }],
  inject: { creation: Creation, keys: ApiKeys, sessions: UserSessions },
  async handle({ input, caller, deps, work }) {
    const founder = await deps.creation.founder(work, caller, input.owner)
    if (input.first_key) refuseFirstKey(caller)
    const { name, slug, time_zone: timeZone } = input
    const organization = await deps.creation.create(work, founder, {
      name,
      timeZone,
      isUnlimited: caller.operator !== undefined,
      ...(slug === undefined ? {} : { slug }),
    })
    await actIn(work, caller, organization.id, deps.sessions)
    const first = { name: "First key", kind: "api_key", role: "owner", scopes: null, user: founder } as const
    const created = { ...toResource(organization), role: "owner" as const }
    return input.first_key ? { ...created, secret: deps.keys.mint(work, organization.id, first).text } : created
  },
  onConflict: async ({ error }) => (error.code === "already_exists" ? slugOfAnother() : error),
})

export const listOrganizations = defineOperation({
  name: "organizations.list",
  summary: "List the caller's organizations by slug: all of a person who signed in, its own one of a key.",
  http: { method: "GET", path },
  access: { scope: "organizations:read", role: "guest", withoutOrganization: true, whilePaused: true },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["slug", "name", "role", "time_zone"],
  input: z.strictObject({ ...pageInput, include_archived: IncludeArchived }),
  output: z.object({ organizations: z.array(OwnOrganization), next_cursor: z.string() }),
  errors: ["invalid_argument"],
  inject: { store: Store, pager: Pager, organizations: Organizations },
  async handle({ input, caller, deps: { store, pager, organizations } }) {
    const person = caller.signIn && caller.user ? await organizations.user(caller.user.id) : undefined
    const ownId = caller.organization?.id
    const ids = person?.organization_ids ?? (ownId === undefined ? [] : [ownId])
    const { items, next_cursor } = await pager.page({
      collection: store.open(OrganizationsCollection),
      organization: ownId ?? person?.id ?? "",
      cursorScope: `organizations.list ${person?.id ?? ""} ${input.include_archived}`,
      filter: { id: { $in: ids }, ...(input.include_archived ? {} : { archived: null }) },
      sort: { slug: 1 },
      request: input,
    })
    const rows = items.map(async (organization) => {
      const membership = person && (await organizations.membership(organization.id, person.id))
      const role = membership?.role ?? caller.role
      return role ? [{ ...toResource(organization), role }] : []
    })
    return { organizations: (await Promise.all(rows)).flat(), next_cursor }
  },
})

/** The first key has the owner role and every scope. */
function refuseFirstKey(caller: AnyCaller): void {
  requireFreshSignIn(caller, "first_key")
  if (!caller.scopes) return
  throw new AppError("permission_denied", "first_key: a token can create only tokens with its own scopes, not an API key.", {
    reason: "missing_scope",
    scopes: [...caller.scopes].sort(),
  })
}
