// Programs of an organization that call operations without a key of their own, such as heartbeats.
import { token } from "#core"
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

export interface Principals {
  declare(find: FindPrincipal): void
  /** Undefined for a key, and for a program that was deleted. */
  find: FindPrincipal
}

export const Principals = token<Principals>("Principals")

export function createPrincipals(): Principals {
  const kinds: FindPrincipal[] = []
  return {
    declare: (find) => {
      kinds.push(find)
    },
    async find(organization, id) {
      for (const find of kinds) {
        const found = await find(organization, id)
        if (found) return found
      }
      return undefined
    },
  }
}
