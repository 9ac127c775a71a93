// Organizations, their members, and the keys of members and programs.
import { z } from "zod"
import {
  CacheInvalidation,
  Clock,
  definePlugin,
  Ids,
  Log,
  type Registrar,
  Settings,
  Store,
  timestamp,
  token,
  UnitsOfWork,
  Vault,
} from "#core"
import { Authenticator, Listening, operatorPurpose, type RehearsalContext, StagedWork, ViewerTokens } from "#core/engine"
import { createLastUse, generateKey, type LastUse, UserSessions, Users } from "../identity/index.ts"
import { ApiKeys, createApiKeys } from "./api-keys.ts"
import { createAuthenticator } from "./authenticator.ts"
import {
  InvitationsCollection,
  KeyOwnersCollection,
  KeysCollection,
  MembershipsCollection,
  newOrganization,
  OrganizationSlugsCollection,
  OrganizationsCollection,
  SigningKeysCollection,
} from "./collections.ts"
import { createOrganizations, Organizations, TimeZoneHooks } from "./directory.ts"
import { Bootstrap, FirstStart, greeting } from "./first-start.ts"
import { Management } from "./management.ts"
import { Departures } from "./members/members.ts"
import { inviterDeparture, memberSettings, registerMembers } from "./members/register.ts"
import { createKey, listKeys, revokeKey } from "./operations/api-keys.ts"
import { listMembers } from "./operations/identity.ts"
import {
  acceptManager,
  adoptManaged,
  endManaged,
  inviteManaged,
  listInvitations,
  listManaged,
  revokeInvitation,
} from "./operations/managed.ts"
import { getMe, switchOrganization } from "./operations/me.ts"
import { setStaff } from "./operations/staff.ts"
import { createViewerSession } from "./operations/viewer-sessions.ts"
import { Principals } from "./origins.ts"
import { reasons } from "./reasons.ts"
import { createSessions, Sessions, sessionsNeeds } from "./sessions.ts"
import { archiveOrganization, restoreOrganization } from "./tenants/archive.ts"
import { Creation, CreationCountsCollection, type CreationRules, createCreation, creationNeeds, selfServices } from "./tenants/creation.ts"
import { getOrganization, updateOrganization } from "./tenants/organization.ts"
import { createOrganization, listOrganizations } from "./tenants/organizations.ts"
import { createPausing, Pausing, pausingNeeds } from "./tenants/pausing.ts"
import { resumeOrganization, suspendOrganization } from "./tenants/suspension.ts"
import { createViewerSessions, ViewerSessions, viewerSessionsNeeds } from "./viewer-sessions.ts"

export { generateKey, parseKey, type User } from "../identity/index.ts"
export { ApiKeys, type CurrentReach } from "./api-keys.ts"
export type { Organization } from "./collections.ts"
export { Organizations, organizationsTopic, type TimeZoneHook, TimeZoneHooks } from "./directory.ts"
export { Bootstrap } from "./first-start.ts"
export { Joining } from "./members/invitations/joining.ts"
export { type Departure, type DepartureHook, Departures, type LeftBehind } from "./members/members.ts"
export { type Author, type FindPrincipal, findPrincipal, type Origins, Principals, userOrigin } from "./origins.ts"
export { Sessions } from "./sessions.ts"
export { isStillMember, memberLinkOf, ViewerSessions } from "./viewer-sessions.ts"

/** Settings of this part. */
const tenantSettings = {
  self_service: z
    .enum(selfServices)
    .default("owners")
    .describe("Creators of organizations, beside the operator: nobody, owners of an organization, or everyone with a membership."),
  max_created_per_day: z.int().min(1).max(1_000).default(20).describe("Organizations that one user creates on one day of UTC."),
}

function registerTenants(reg: Registrar, settings: CreationRules): void {
  reg.collections(OrganizationSlugsCollection, CreationCountsCollection)
  reg.operations(createOrganization, listOrganizations)
  reg.operations(archiveOrganization, restoreOrganization, suspendOrganization, resumeOrganization)
  reg.provide(Pausing, {
    inject: pausingNeeds,
    create: createPausing,
    start: (pausing) => pausing.start(),
  })
  reg.provide(Creation, {
    inject: creationNeeds,
    create: (deps) => createCreation(deps, settings),
  })
}

/** The organizations for the first start, before it has run. */
const Directory = token<Organizations>("organizations directory")
const KeyUses = token<LastUse>("last use of keys")

const OrganizationSettings = z.strictObject({
  staff: z
    .array(z.email().toLowerCase())
    .max(1_000)
    .default([])
    .describe("Emails of users who are staff of the service, beside those whom an owner of its own organization marks."),
  ...tenantSettings,
  ...memberSettings,
  session_idle_minutes: z
    .int()
    .min(1)
    .max(1_440)
    .default(60)
    .describe("A session opened with a key ends after this many minutes without a call."),
  session_max_hours: z.int().min(1).max(720).default(12).describe("A session opened with a key ends after this many hours in any case."),
})

export { isTimeZone } from "./tenants/organization.ts"

export default definePlugin({
  id: "organizations",
  needs: ["email", "identity"],
  reasons,
  config: OrganizationSettings,
  commands: [{ name: "make-key", summary: "Print a new API key, for MILLRACE_BOOTSTRAP_KEY.", run: () => generateKey("api_key").text }],
  extensionPoints: [Departures, Principals, TimeZoneHooks],
  extend: [[Departures, inviterDeparture]],
  register(reg, settings) {
    const production = process.env["NODE_ENV"] === "production"
    reg.collections(
      OrganizationsCollection,
      MembershipsCollection,
      KeysCollection,
      KeyOwnersCollection,
      SigningKeysCollection,
      InvitationsCollection,
    )
    reg.rehearsal({ name: "organization", run: rehearsedOrganization })
    reg.operations(createKey, listKeys, revokeKey, getMe, switchOrganization, listMembers, listManaged, createViewerSession)
    reg.operations(inviteManaged, listInvitations, revokeInvitation, acceptManager, adoptManaged, endManaged)
    reg.operations(getOrganization, updateOrganization, setStaff)
    registerTenants(reg, settings)
    registerMembers(reg, settings)

    reg.provide(Directory, {
      inject: { store: Store, invalidation: CacheInvalidation, clock: Clock, ids: Ids, users: Users, hooks: TimeZoneHooks },
      create(deps) {
        deps.users.declareStaff(settings.staff)
        return createOrganizations(deps)
      },
    })
    reg.provide(ApiKeys, {
      inject: { store: Store, invalidation: CacheInvalidation, clock: Clock, ids: Ids, organizations: Directory, sessions: UserSessions },
      create: createApiKeys,
    })
    reg.provide(Bootstrap, {
      inject: { settings: Settings, store: Store, works: UnitsOfWork, log: Log, organizations: Directory, apiKeys: ApiKeys },
      create: (deps): Bootstrap => new FirstStart(deps, production),
      start: (bootstrap) => (bootstrap as FirstStart).start(),
    })
    reg.run("greeting", {
      inject: { bootstrap: Bootstrap, listening: Listening },
      create: ({ bootstrap, listening }) => listening.onListening((baseUrl) => greeting(bootstrap, baseUrl, process.stdout.isTTY === true)),
    })
    // Services with this dependency start after the first start, so an organization exists.
    reg.provide(Organizations, { inject: { directory: Directory, bootstrap: Bootstrap }, create: ({ directory }) => directory })
    reg.provide(Management)
    reg.provide(KeyUses, {
      inject: { works: UnitsOfWork, clock: Clock, log: Log },
      create: createLastUse,
      stop: (use) => use.whenIdle(),
    })
    reg.provide(Authenticator, {
      inject: {
        store: Store,
        invalidation: CacheInvalidation,
        clock: Clock,
        organizations: Organizations,
        use: KeyUses,
        sessions: UserSessions,
        vault: Vault,
      },
      create: ({ vault, ...deps }) =>
        createAuthenticator({
          ...deps,
          operatorKey: vault.keyFor(operatorPurpose),
          idleMs: settings.session_idle_minutes * 60_000,
        }),
    })
    reg.provide(Sessions, {
      inject: sessionsNeeds,
      create: (deps) => createSessions(deps, settings.session_max_hours * 3_600_000),
    })
    reg.provide(ViewerTokens, { inject: { sessions: ViewerSessions }, create: ({ sessions }) => sessions })
    reg.provide(ViewerSessions, { inject: viewerSessionsNeeds, create: createViewerSessions })
  },
})

/** The organization of a rehearsal, new each time. An earlier organization with its slug is replaced. */
async function rehearsedOrganization({ caller: { organization }, store, now }: RehearsalContext): Promise<void> {
  const work = new StagedWork(`rehearsal:${organization.id}`)
  const organizations = work.in(OrganizationsCollection)
  const earlier = await store.open(OrganizationsCollection).first({ slug: organization.slug })
  if (earlier) organizations.remove(earlier.id)
  organizations.insert({ ...newOrganization, ...organization, created_at: timestamp(now) })
  await store.commit(work.commit)
}
