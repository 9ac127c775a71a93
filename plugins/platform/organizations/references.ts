// Organizations in the input and output of operations: by slug or UUID, and as a name.
import { z } from "zod"
import { AppError, type Caller, Uuid } from "#core"
import type { Organization } from "./collections.ts"
import type { Organizations } from "./directory.ts"

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
