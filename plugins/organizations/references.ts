// Organizations in the input and output of operations: by slug or UUID, and as a name.
import { z } from "zod"
import { AppError, type Caller, Uuid } from "#core"
import type { Organization } from "./collections.ts"
import type { Organizations } from "./directory.ts"

export const OrganizationName = z.object({ id: Uuid, slug: z.string(), name: z.string() })

export function named({ id, slug, name }: Organization) {
  return { id, slug, name }
}

/** Reads an organization by slug or UUID. Throws `not_found`. */
export async function requireOrganization(organizations: Organizations, reference: string): Promise<Organization> {
  return (await organizations.find(reference)) ?? refuseOrganization(`organization: "${reference}" does not exist.`)
}

/** Reads the caller's organization, or another one that the caller's user owns. Throws `not_found`. */
export async function requireOwned(organizations: Organizations, caller: Caller, reference: string): Promise<Organization> {
  const found = await organizations.find(reference)
  const membership = found && caller.user ? await organizations.membership(found.id, caller.user.id) : undefined
  if (found && (found.id === caller.organization.id || membership?.role === "owner")) return found
  return refuseOrganization(`organization: "${reference}" does not exist, or you are not an owner of it.`)
}

/** Throws `not_found`. */
export function refuseOrganization(message: string): never {
  throw new AppError("not_found", message, { reason: "organization_not_accessible" })
}
