// The origins of a credential: its first credential, and each user and manager on the way. Two credentials with a shared origin
// belong together, so neither decides on requests of the other.
import { defineExtensionPoint, type Store } from "#core"
import type { Role } from "#core/engine"
import type { StoredKey } from "./collections.ts"
import type { Organizations } from "./directory.ts"
import { keyWithin } from "./reach.ts"

/** The requester or decider of an approval, as stored. `requesterOf` returns the party of a caller. */
export interface Party {
  readonly credential_id: string | null
  readonly user_id: string | null
  /** The managing organization behind the credential. Absent in older approvals. */
  readonly manager_id?: string | null
}

/** `key:<id>`, `user:<id>` and `manager:<organization id>`. */
export type Origins = ReadonlySet<string>

export function userOrigin(user: string): string {
  return `user:${user}`
}

/** Returns the origins of a new key from the origins of its maker. */
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
  const organization = (await deps.organizations.byId(organizationId)) ?? { id: organizationId, managed_by: null }
  // The maker of a key is older than the key, so the loop ends.
  for (let next = credential_id; next !== null; ) {
    const match = await keyWithin(deps.store, organization, next)
    if (!match) {
      // The maker is a session, or a key of an organization out of reach.
      if (origins.size === 0) origins.add(`key:${next}`)
      break
    }
    const { key, owner } = match
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

function ownOrigins({ user_id, manager_id }: Pick<StoredKey, "user_id" | "manager_id">): string[] {
  return [...(user_id === null ? [] : [userOrigin(user_id)]), ...(manager_id === null ? [] : [managerOrigin(manager_id)])]
}

function managerOrigin(organization: string): string {
  return `manager:${organization}`
}

/** A person or key in control of a program. */
export interface Author extends Party {
  readonly credential_id: string
}

interface Principal {
  readonly role: Role
  /** The program has at most this author's rights. Null for a program from before authors were stored. */
  readonly maker: Author | null
  /** All authors of the program, including the maker. */
  readonly authors: readonly Author[]
  mayCall(operation: string): boolean
}

export type FindPrincipal = (organization: string, id: string) => Promise<Principal | undefined>

/** Finds the principals of one kind, such as heartbeats. */
export const Principals = defineExtensionPoint<FindPrincipal>({ id: "organizations.principals" })

/** Returns undefined for a key, and for a deleted program. */
export async function findPrincipal(kinds: readonly FindPrincipal[], organization: string, id: string): Promise<Principal | undefined> {
  for (const find of kinds) {
    const principal = await find(organization, id)
    if (principal) return principal
  }
  return undefined
}
