// The reach of a credential: the organizations of its calls, its role there, and the manager between the two.
import { type AnyCaller, type Caller, roleAtLeast, type Store, type UnitOfWork } from "#core"
import type { ManagementLink, Role } from "#core/engine"
import type { UserSessions } from "../identity/index.ts"
import { KeysCollection, type Organization, type StoredKey } from "./collections.ts"
import { type Organizations, toReference } from "./directory.ts"

/** A stored key and its organization. */
export interface StoredCredential {
  readonly key: StoredKey
  readonly owner: string
}

/** Reads a key of the organization, or of its manager. */
export async function keyWithin(
  store: Store,
  { id, managed_by }: Pick<Organization, "id" | "managed_by">,
  keyId: string,
): Promise<StoredCredential | undefined> {
  for (const owner of managed_by ? [id, managed_by.id] : [id]) {
    const key = await store.open(KeysCollection, owner).get(keyId)
    if (key) return { key, owner }
  }
  return undefined
}

/** Returns the key's own organization if the key acts in a managed organization. */
export async function managerOf(
  organizations: Organizations,
  { owner }: StoredCredential,
  organization: Organization,
): Promise<NonNullable<Caller["manager"]> | undefined> {
  if (organization.id === owner) return undefined
  const ownerOrganization = await organizations.byId(owner)
  return ownerOrganization && toReference(ownerOrganization)
}

/** Returns the role of a person in an organization, as a member or as a member of its manager. */
export async function personalReach(
  organizations: Organizations,
  user: string,
  organization: Organization,
): Promise<{ role: Role; manager?: Organization } | undefined> {
  const membership = await organizations.membership(organization.id, user)
  if (membership) return { role: membership.role }
  const link = organization.managed_by
  const manager = link ? await organizations.byId(link.id) : undefined
  const home = manager && (await organizations.membership(manager.id, user))
  return link && home ? { role: lesser(home.role, link.role), manager } : undefined
}

/** Stages the organization for the session of a person without an organization. */
export async function actIn(work: UnitOfWork, caller: AnyCaller, organization: string, sessions: UserSessions): Promise<void> {
  const session = caller.organization ? undefined : await sessions.get(caller.credential.id)
  if (session) sessions.switchTo(work, session, organization)
}

/** Returns the link to a manager. Null if the credential has no manager, undefined if the link has ended. */
export function linkOf({ managed_by }: Organization, manager: string | null): ManagementLink | null | undefined {
  if (manager === null) return null
  return managed_by?.id === manager ? { manager_id: manager, since: managed_by.since } : undefined
}

/**
 * Returns the role of a key in its own or a managed organization. Undefined in other organizations, even if its user is a member
 * there.
 */
export async function reach(
  organizations: Organizations,
  { key, owner }: StoredCredential,
  organization: Organization,
): Promise<Role | undefined> {
  const isOwn = organization.id === owner
  if (!isOwn && organization.managed_by?.id !== owner) return undefined
  if (isOwn && key.user_id === null) return key.role
  const limit = isOwn ? key.role : lesser(key.role, organization.managed_by?.role ?? "guest")
  if (key.user_id === null) return key.manager ? limit : undefined
  const home = (await organizations.membership(owner, key.user_id))?.role
  return home && lesser(limit, home)
}

function lesser(a: Role, b: Role): Role {
  return roleAtLeast(a, b) ? b : a
}
