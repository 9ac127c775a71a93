// Memberships after joining: roles, removals, and the last owner. A removal ends every credential of the person in the
// organization before the response.
import {
  AppError,
  allKeys,
  CacheInvalidation,
  type Caller,
  type Deps,
  defineExtensionPoint,
  roleAtLeast,
  Store,
  type UnitOfWork,
} from "#core"
import { credentialsTopic, type Role } from "#core/engine"
import { UserSessions, Users } from "../../identity/index.ts"
import { ApiKeys } from "../api-keys.ts"
import { KeysCollection, type Membership, MembershipsCollection, OrganizationsCollection } from "../collections.ts"
import { membershipId, organizationsTopic } from "../directory.ts"

/** A person leaving an organization. */
export interface Departure {
  readonly organization: string
  readonly user: string
}

/** A paused resource of the person. Another admin can take it over. */
export interface LeftBehind {
  /** Kind of the resource, such as `heartbeat`. */
  readonly kind: string
  readonly id: string
  readonly name: string
  /** Operation for taking over the resource, called by an admin. */
  readonly operation: string
}

/** Stages the end or the pause of the person's resources. Returns the resources for another admin. */
export type DepartureHook = (work: UnitOfWork, departure: Departure) => Promise<readonly LeftBehind[]>

/** Departure hooks of other areas. Each area extends the point. The removal runs all items in its own unit of work. */
export const Departures = defineExtensionPoint<DepartureHook>({ id: "organizations.departures" })

/** Runs every hook, in the order of the plugins. */
async function stageDeparture(hooks: readonly DepartureHook[], work: UnitOfWork, departure: Departure): Promise<LeftBehind[]> {
  const leftovers: LeftBehind[] = []
  for (const hook of hooks) leftovers.push(...(await hook(work, departure)))
  return leftovers
}

export interface Removal {
  readonly keys: number
  readonly left: readonly LeftBehind[]
}

export class Members {
  static readonly inject = {
    store: Store,
    invalidation: CacheInvalidation,
    keys: ApiKeys,
    departures: Departures,
    users: Users,
    sessions: UserSessions,
  }
  readonly #deps: Deps<typeof Members.inject>

  constructor(deps: Deps<typeof Members.inject>) {
    this.#deps = deps
  }

  /** Reads the stored membership. Throws `not_found` if the user is not a member. */
  async require(organization: string, user: string): Promise<Membership> {
    const membership = await this.find(organization, user)
    if (membership) return membership
    throw new AppError("not_found", `The organization has no member ${user}; GET /v1/members lists them.`, { reason: "member_not_found" })
  }

  find(organization: string, user: string): Promise<Membership | undefined> {
    return this.#deps.store.open(MembershipsCollection, organization).get(membershipId(organization, user))
  }

  /**
   * Throws `permission_denied` below admin or `role`. Uses the stored role of the caller, so a repeated call respects a removal.
   */
  async requireRank(caller: Caller, role: Role, action: string): Promise<void> {
    const membership = caller.user && (await this.find(caller.organization.id, caller.user.id))
    const storedRole = caller.user ? (membership?.role ?? "guest") : caller.role
    const now = roleAtLeast(storedRole, caller.role) ? caller.role : storedRole
    for (const requiredRole of ["admin", role] as const) requireRank(now, requiredRole, action)
  }

  /** Stages a new role. Throws `failed_precondition` for the last owner. */
  async changeRole(work: UnitOfWork, organization: string, { id, user_id, role: before }: Membership, role: Role): Promise<void> {
    if (before === role) return
    if (before === "owner") await this.#keepAnOwner(work, organization, user_id)
    work.in(MembershipsCollection, organization).update(id, { $set: { role } }, { where: { role: before } })
    this.#announce(work, organization)
  }

  /** Stages the role owner for `taker`, and admin for `giver`. One commit keeps an owner. */
  async transfer(work: UnitOfWork, organization: string, taker: Membership, giver: Membership | undefined): Promise<void> {
    const memberships = work.in(MembershipsCollection, organization)
    memberships.update(taker.id, { $set: { role: "owner" } }, { where: { role: taker.role } })
    if (giver) {
      await this.#countOwners(work, organization)
      memberships.update(giver.id, { $set: { role: "admin" } }, { where: { role: "owner" } })
    }
    this.#announce(work, organization)
  }

  /** Stages the end of the membership and of the person's keys. Throws `failed_precondition` for the last owner. */
  async remove(work: UnitOfWork, organization: string, member: Membership): Promise<Removal> {
    const { store, keys, departures, users, sessions } = this.#deps
    const { id, user_id, role, made_keys = null } = member
    if (role === "owner") await this.#keepAnOwner(work, organization, user_id)
    let revokedKeys = 0
    for await (const key of store.open(KeysCollection, organization).stream({ user_id, revoked_at: null })) {
      keys.revoke(work, organization, key)
      revokedKeys++
    }
    const person = await users.get(user_id)
    for await (const session of sessions.valid(user_id)) {
      // A session of another organization no longer reaches this one.
      const actsIn = session.acts_in ?? person?.organization_ids[0]
      if (actsIn === organization) sessions.end(work, session, "ended")
    }
    const leftovers = await stageDeparture(departures, work, { organization, user: user_id })
    // A key created by the person in between changes the count, and this commit is refused.
    work.in(MembershipsCollection, organization).remove(id, { where: { role, made_keys } })
    users.removeOrganization(work, user_id, organization)
    this.#announce(work, organization)
    return { keys: revokedKeys, left: leftovers }
  }

  /** Counts a key of the member. The commit is refused if the membership ends in between. */
  countKey(work: UnitOfWork, organization: string, user: string): void {
    work.in(MembershipsCollection, organization).update(membershipId(organization, user), { $inc: { made_keys: 1 } })
  }

  /** Returns true if the organization has another owner besides the user. */
  async hasOtherOwner(organization: string, user: string): Promise<boolean> {
    return Boolean(await this.#deps.store.open(MembershipsCollection, organization).first({ role: "owner", user_id: { $ne: user } }))
  }

  /** Throws `failed_precondition` if the organization has no other owner. */
  async #keepAnOwner(work: UnitOfWork, organization: string, leaving: string): Promise<void> {
    await this.#countOwners(work, organization)
    if (await this.hasOtherOwner(organization, leaving)) return
    const message = "An organization keeps at least one owner. Make another member an owner first."
    throw new AppError("failed_precondition", message, { reason: "last_owner" })
  }

  /** Concurrent changes of owners increment one counter, so the second commit is refused. Read owners after this. */
  async #countOwners(work: UnitOfWork, organization: string): Promise<void> {
    const owners_revision = (await this.#deps.store.open(OrganizationsCollection).get(organization))?.owners_revision ?? null
    work.in(OrganizationsCollection).update(organization, { $inc: { owners_revision: 1 } }, { where: { owners_revision } })
  }

  /** Nodes reload the members and check every open connection again. */
  #announce(work: UnitOfWork, organization: string): void {
    this.#deps.invalidation.announce(work, organizationsTopic, organization, { settled: true })
    this.#deps.invalidation.announce(work, credentialsTopic, allKeys, { settled: true })
  }
}

/**
 * Throws `permission_denied` for credentials with a manager in their ancestry. Only the organization itself changes its members.
 */
export function requireInside({ manager, link, organization }: Pick<Caller, "manager" | "link" | "organization">): void {
  if (manager === undefined && link === undefined) return
  const message = `A manager's credential cannot change the members of "${organization.slug}"; use a credential of one of its members.`
  throw new AppError("permission_denied", message, { reason: "acts_for_client" })
}

function requireRank(role: Role, required: Role, action: string): void {
  if (roleAtLeast(role, required)) return
  throw new AppError("permission_denied", `${action} needs the role ${required}; yours is ${role}. Ask an ${required}.`, {
    reason: "role_too_low",
    needed_role: required,
    role,
  })
}
