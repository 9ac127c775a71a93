// The organizations there are and who belongs to them, read through a cache that other nodes' changes empty.

import { z } from "zod"
import {
  AppError,
  allKeys,
  type CacheInvalidation,
  type Caller,
  type Clock,
  defineExtensionPoint,
  derivedUuid,
  type Ids,
  isUuid,
  type Store,
  slugOf,
  timestamp,
  token,
  type UnitOfWork,
  Uuid,
} from "#core"
import { credentialsTopic, GenerationCache, type ManagementLink, type Role } from "#core/engine"
import { isUnclaimed, type User, type Users } from "../identity/index.ts"
import {
  type Membership,
  MembershipsCollection,
  newOrganization,
  type Organization,
  OrganizationSlugsCollection,
  OrganizationsCollection,
} from "./collections.ts"

export interface Organizations {
  all(): AsyncIterable<Organization>
  byId(id: string): Promise<Organization | undefined>
  /** Also by a slug that the organization had before. */
  bySlug(slug: string): Promise<Organization | undefined>
  /** By UUID or slug. */
  find(reference: string): Promise<Organization | undefined>
  /** The one made first; throws `failed_precondition` while there is none. */
  first(): Promise<Organization>
  membership(organization: string, user: string): Promise<Membership | undefined>
  /** Returns true if nobody decides own requests for approval. */
  requiresSecondPerson(organization: string): Promise<boolean>
  /** Users who are admins or owners. */
  admins(organization: string): Promise<User[]>
  /** Addresses for notices to the admins: the organization's notification address, or that of each admin. */
  noticeAddresses(organization: string): Promise<string[]>
  /** `staff` is set where the user is marked so, or named by the configuration. */
  user(id: string): Promise<User | undefined>
  /** Whether the user is marked as staff, or named by the configuration. */
  isStaff(user: Pick<User, "email" | "staff">): boolean
  /** Stages an organization; a slug that any organization has or had fails the commit as `already_exists`. */
  create(work: UnitOfWork, input: NewOrganization): Organization
  /** Stages a user; a taken email fails the commit as `already_exists`. */
  addUser(work: UnitOfWork, input: { email: string; name?: string; staff?: boolean }): User
  /** Stages a membership, or the new role of one there is. */
  addMember(work: UnitOfWork, organization: string, user: string, role: Role): void
  /** Stages new settings of an organization. */
  update(work: UnitOfWork, organization: Organization, change: OrganizationChange): Promise<Organization>
  /** Stages whether a user is staff. */
  setStaff(work: UnitOfWork, user: string, staff: boolean): void
  /** Stages that an organization is managed by another, whose keys get `role` there at most; null ends it. The commit is `aborted` where `before` is not what there was. */
  setManager(work: UnitOfWork, managed: string, manager: { id: string; role: Role } | null, before?: Organization["managed_by"]): void
  /** Returns false if the link has ended, also if the two were linked again since. */
  isCurrentLink(organization: string, link: ManagementLink): Promise<boolean>
  /** Counts a key that the manager makes; the commit is `aborted` where it does not manage the organization. */
  countKey(work: UnitOfWork, managed: string, manager: string): void
}

/** Longer texts are the slug of nothing. */
const maxSlug = 100
/** As many as one mail has recipients. */
const maxAdmins = 50

export interface NewOrganization {
  readonly name: string
  readonly slug?: string
  readonly timeZone?: string
  /** The user who creates it. */
  readonly createdBy?: string | null
}

type Settings = "slug" | "name" | "time_zone" | "members_may_connect" | "notification_address" | "require_second_person"
export type OrganizationChange = Partial<Pick<Organization, Settings>>
export type TimeZoneHook = (work: UnitOfWork, organization: Organization) => Promise<void> | void

/** Runs when the time zone of an organization changes, in the same unit of work. */
export const TimeZoneHooks = defineExtensionPoint<TimeZoneHook>({ id: "organizations.time-zones" })

export const Organizations = token<Organizations>("Organizations")

/** Invalidation topic; announced with an organization's id whenever it, its members or its manager change. */
export const organizationsTopic = "organizations"

interface DirectoryDeps {
  readonly store: Store
  readonly invalidation: CacheInvalidation
  readonly clock: Clock
  readonly ids: Ids
  readonly users: Users
  readonly hooks: readonly TimeZoneHook[]
}

export function createOrganizations({ store, invalidation, clock, ids, users, hooks }: DirectoryDeps): Organizations {
  const organizations = new GenerationCache<Organization>(10_000)
  const memberships = new GenerationCache<Membership>(10_000)
  invalidation.onChange(organizationsTopic, () => {
    organizations.clear()
    memberships.clear()
  })
  const collection = () => store.open(OrganizationsCollection)
  const announceChange = (work: UnitOfWork, organization: string) =>
    invalidation.announce(work, organizationsTopic, organization, { settled: true })
  const byId = (id: string) => organizations.load(id, () => collection().get(id))
  const bySlug = (slug: string) =>
    organizations.load(`slug:${slug}`, async () => (await collection().first({ slug })) ?? (await earlierOwner(slug)))
  const earlierOwner = async (slug: string) => {
    const slugRow = slug.length <= maxSlug ? await store.open(OrganizationSlugsCollection).get(slug) : undefined
    return slugRow && (await collection().get(slugRow.owner_id))
  }
  const keepSlug = (work: UnitOfWork, slug: string, organization: string, ifPresent: "fail" | "keep" = "fail") =>
    work.in(OrganizationSlugsCollection).insert({ id: slug, owner_id: organization, created_at: timestamp(clock.now()) }, { ifPresent })
  const admins = async (organization: string) => {
    const administrators = await store
      .open(MembershipsCollection, organization)
      .find({ role: { $in: ["admin", "owner"] } }, { limit: maxAdmins })
    return await users.findMany(administrators.map(({ user_id }) => user_id))
  }

  return {
    all: () => collection().stream({}),
    byId,
    bySlug,
    find: (reference) => (isUuid(reference.toLowerCase()) ? byId(reference.toLowerCase()) : bySlug(reference)),
    async first() {
      const first = await collection().first({}, { sort: { created_at: 1 } })
      if (first) return first
      throw new Error("No organization exists yet; the first start of the service creates one.")
    },
    membership(organization, user) {
      const id = membershipId(organization, user)
      return memberships.load(id, () => store.open(MembershipsCollection, organization).get(id))
    },
    admins,
    async noticeAddresses(organization) {
      const address = (await byId(organization))?.notification_address
      return address ? [address] : (await admins(organization)).filter((user) => !isUnclaimed(user)).map(({ email }) => email)
    },
    async requiresSecondPerson(organization) {
      const setting = (await byId(organization))?.require_second_person ?? null
      if (setting !== null) return setting
      const isAdmin = { role: { $in: ["admin", "owner"] } }
      return (await store.open(MembershipsCollection, organization).count(isAdmin, { limit: 2 })) >= 2
    },
    isStaff: (user) => users.isStaff(user),
    user: (id) => users.get(id),
    create(work, { name, slug = slugOf(name, "organization"), timeZone: time_zone = "UTC", createdBy: created_by = null }) {
      const organization = { ...newOrganization, id: ids.uuid(), slug, name, time_zone, created_by, created_at: timestamp(clock.now()) }
      work.in(OrganizationsCollection).insert(organization)
      keepSlug(work, organization.slug, organization.id)
      return organization
    },
    addUser: (work, input) => users.add(work, input),
    addMember(work, organization, user, role) {
      const id = membershipId(organization, user)
      work
        .in(MembershipsCollection, organization)
        .update(id, { $set: { role }, $setOnInsert: { user_id: user, created_at: timestamp(clock.now()) } }, { upsert: true })
      users.addOrganization(work, user, organization)
      announceChange(work, organization)
    },
    async update(work, organization, change) {
      const updated = { ...organization, ...change }
      if (updated.slug !== organization.slug) {
        const slugRow = await store.open(OrganizationSlugsCollection).get(updated.slug)
        if (slugRow?.owner_id !== organization.id) keepSlug(work, updated.slug, organization.id)
        // An earlier version kept no slugs.
        keepSlug(work, organization.slug, organization.id, "keep")
      }
      work.in(OrganizationsCollection).update(organization.id, { $set: change })
      if (updated.time_zone !== organization.time_zone) for (const hook of hooks) await hook(work, updated)
      announceChange(work, organization.id)
      return updated
    },
    setStaff: (work, user, staff) => users.update(work, user, { staff }),
    async isCurrentLink(id, { manager_id, since }) {
      const link = (await byId(id))?.managed_by
      return link?.id === manager_id && link.since === since
    },
    countKey(work, managed, manager) {
      work.in(OrganizationsCollection).update(managed, { $inc: { "managed_by.made_keys": 1 } }, { where: { "managed_by.id": manager } })
    },
    setManager(work, managed, manager, before) {
      if (manager?.id === managed) throw new Error("An organization cannot manage itself.")
      const managed_by = manager ? { ...manager, since: timestamp(clock.now()), made_keys: 0 } : null
      const link = before && { "managed_by.id": before.id, "managed_by.made_keys": before.made_keys }
      work
        .in(OrganizationsCollection)
        .update(managed, { $set: { managed_by } }, before === undefined ? {} : { where: link ?? { managed_by: null } })
      announceChange(work, managed)
      // Live connections of the manager's keys end too; each is looked at again.
      if (manager === null) invalidation.announce(work, credentialsTopic, allKeys, { settled: true })
    },
  }
}

/** A user has one membership of an organization. */
export function membershipId(organization: string, user: string): string {
  return derivedUuid("membership", organization, user)
}

/** Organizations in the input and output of operations: by slug or UUID, and as a name. */
export const OrganizationName = z.object({ id: Uuid, slug: z.string(), name: z.string() })

export function toReference({ id, slug, name }: Organization) {
  return { id, slug, name }
}

/** Reads an organization by slug or UUID. Throws `not_found`. */
export async function requireOrganization(organizations: Organizations, reference: string): Promise<Organization> {
  return (await organizations.find(reference)) ?? refuseOrganization(`organization: "${reference}" does not exist.`)
}

/**
 * Reads the caller's organization, or for a person in a session another one that the person owns. Throws `not_found`, and
 * `permission_denied` for a key that names any other organization.
 */
export async function requireOwned(organizations: Organizations, caller: Caller, reference: string): Promise<Organization> {
  const match = await organizations.find(reference)
  if (!caller.signIn && match?.id !== caller.organization.id) throw otherOrganization(caller.organization, reference)
  const membership = match && caller.user ? await organizations.membership(match.id, caller.user.id) : undefined
  if (match && (match.id === caller.organization.id || membership?.role === "owner")) return match
  return refuseOrganization(`organization: "${reference}" does not exist, or you are not an owner of it.`)
}

function otherOrganization({ slug }: Caller["organization"], reference: string): AppError {
  const message = `organization: a key of "${slug}" decides nothing for "${reference}". Sign in as an owner, or use a key of that organization.`
  return new AppError("permission_denied", message, { reason: "not_a_person" })
}

/** Throws `not_found`. */
export function refuseOrganization(message: string): never {
  throw new AppError("not_found", message, { reason: "organization_not_accessible" })
}
