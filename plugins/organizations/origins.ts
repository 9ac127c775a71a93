// Where a credential comes from: its first credential, and each user and manager on the way. Two credentials that share an
// origin belong together, so neither decides about requests of the other.
import type { Caller, Store } from "#core"
import { KeysCollection, type StoredKey } from "./collections.ts"
import type { Organizations } from "./directory.ts"

/** Who asks or decides, as an approval stores it. */
export interface Party {
  readonly credential_id: string | null
  readonly user_id: string | null
  /** The managing organization that the credential depends on. Absent in older approvals. */
  readonly manager_id?: string | null
}

export function partyOf({ credential, user, link }: Caller): Party {
  return { credential_id: credential.id, user_id: user?.id ?? null, manager_id: link?.manager_id ?? null }
}

/** `key:<id>`, `user:<id>` and `manager:<organization id>`. */
export type Origins = ReadonlySet<string>

export function userOrigin(user: string): string {
  return `user:${user}`
}

/** Returns the origins that a new key stores, from those of its maker. */
export function originsOfNew(key: Pick<StoredKey, "id" | "user_id" | "manager_id">, maker: Iterable<string>): string[] {
  const origins = new Set([...maker, ...ownOrigins(key)])
  return origins.size > 0 ? [...origins] : [`key:${key.id}`]
}

/** Returns the origins of a credential. Unknown credentials are sessions of their user. */
export async function originsOf(
  deps: { readonly store: Store; readonly organizations: Organizations },
  organizationId: string,
  { credential_id, user_id, manager_id = null }: Party,
): Promise<Origins> {
  const origins = new Set(ownOrigins({ user_id, manager_id }))
  const managedBy = (await deps.organizations.byId(organizationId))?.managed_by?.id
  const owners = managedBy ? [organizationId, managedBy] : [organizationId]
  // A key is made by an existing key, so the way ends.
  for (let next = credential_id; next !== null; ) {
    const found = await keyOf(deps.store, owners, next)
    if (!found) {
      // The maker is a session, or a key of an organization out of reach.
      if (origins.size === 0) origins.add(`key:${next}`)
      break
    }
    const { key, owner } = found
    for (const origin of ownOrigins(key)) origins.add(origin)
    if (owner !== organizationId) origins.add(managerOrigin(owner))
    if (key.origins) {
      for (const origin of key.origins) origins.add(origin)
      break
    }
    if (key.created_by === null) origins.add(`key:${key.id}`)
    next = key.created_by
  }
  return origins
}

async function keyOf(store: Store, owners: readonly string[], id: string): Promise<{ key: StoredKey; owner: string } | undefined> {
  for (const owner of owners) {
    const key = await store.open(KeysCollection, owner).get(id)
    if (key) return { key, owner }
  }
  return undefined
}

function ownOrigins({ user_id, manager_id }: Pick<StoredKey, "user_id" | "manager_id">): string[] {
  return [...(user_id === null ? [] : [userOrigin(user_id)]), ...(manager_id === null ? [] : [managerOrigin(manager_id)])]
}

function managerOrigin(organization: string): string {
  return `manager:${organization}`
}
