// Programs of an organization that call operations without a key of their own, such as heartbeats.
import { defineExtensionPoint } from "#core"
import type { Role } from "#core/engine"
import type { Party } from "./origins.ts"

/** Somebody who decided what a program does. */
export interface Author extends Party {
  readonly credential_id: string
}

export interface Principal {
  readonly role: Role
  /** The program does only what this author may do. Null for a program from before authors were stored. */
  readonly maker: Author | null
  /** Everybody who wrote some of it, the maker included. */
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
