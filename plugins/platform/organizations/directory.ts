// The organizations and their members. Reads go through a cache; changes on any node invalidate it.

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
  /** Finds an organization by a current or former slug. */
  bySlug(slug: string): Promise<Organization | undefined>
  /** Finds an organization by UUID or slug. */
  find(reference: string): Promise<Organization | undefined>
  /** Returns the oldest organization. Throws `failed_precondition` without an organization. */
  first(): Promise<Organization>
  membership(organization: string, user: string): Promise<Membership | undefined>
  /** Returns true if own requests for approval need another decider. */
  requiresSecondPerson(organization: string): Promise<boolean>
  /** Returns the admins and owners. */
  admins(organization: string): Promise<User[]>
  /** Returns the addresses for notices to the admins: the organization's notification address, or the address of each admin. */
  noticeAddresses(organization: string): Promise<string[]>
  /** `staff` is true if the user is marked as staff or listed in the configuration. */
  user(id: string): Promise<User | undefined>
  /** Returns true if the user is marked as staff or listed in the configuration. */
  isStaff(user: Pick<User, "email" | "staff">): boolean
  /** Stages an organization. A current or former slug of any organization fails the commit as `already_exists`. */
  create(work: UnitOfWork, input: NewOrganization): Organization
  /** Stages a user. A taken email fails the commit as `already_exists`. */
  addUser(work: UnitOfWork, input: { email: string; name?: string; staff?: boolean }): User
  /** Stages a membership, or the new role of an existing membership. */
  addMember(work: UnitOfWork, organization: string, user: string, role: Role): void
  /** Stages new settings of an organization. */
  update(work: UnitOfWork, organization: Organization, change: OrganizationChange): Promise<Organization>
  /** Stages the staff mark of a user. */
  setStaff(work: UnitOfWork, user: string, staff: boolean): void
  /**
   * Stages the manager of an organization, with `role` as the limit of its keys there. Null ends the management. The commit is
   * `aborted` if the current manager differs from `before`.
   */
  setManager(work: UnitOfWork, managed: string, manager: { id: string; role: Role } | null, before?: Organization["managed_by"]): void
  /** Returns false if the link has ended, even if a new link between both exists. */
  isCurrentLink(organization: string, link: ManagementLink): Promise<boolean>
  /** Counts a key created by the manager. The commit is `aborted` if it does not manage the organization. */
  countKey(work: UnitOfWork, managed: string, manager: string): void
}

/** No slug is longer. */
const maxSlug = 100
/** Maximum of recipients of one mail. */
const maxAdmins = 50

export interface NewOrganization {
  readonly name: string
  readonly slug?: string
  readonly timeZone?: string
  /** The creating user. */
  readonly createdBy?: string | null
}

type Settings = "slug" | "name" | "time_zone" | "members_may_connect" | "notification_address" | "require_second_person"
export type OrganizationChange = Partial<Pick<Organization, Settings>>
export type TimeZoneHook = (work: UnitOfWork, organization: Organization) => Promise<void> | void

/** Runs when the time zone of an organization changes, in the same unit of work. */
export const TimeZoneHooks = defineExtensionPoint<TimeZoneHook>({ id: "organizations.time-zones" })

export const Organizations = token<Organizations>("Organizations")

/** Invalidation topic with the organization's id as key. Announces changes of the organization, its members or its manager. */
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
        // Earlier versions stored no slugs.
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
      // Live connections of the manager's keys also end. Each is checked again.
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
 * Reads an organization by slug or UUID: the caller's organization or, for a person in a session, another organization owned by
 * the person. Throws `not_found`. Throws `permission_denied` for a key of another organization.
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
