// Resources with a readable past.

import { z } from "zod"
import { type Caller, Uuid } from "#core"
import { type Declarations, type DeclaredResource, isAuthorised, Resources } from "#core/engine"

export const Actor = z.object({
  credential_id: z.string().describe("Key or token of the call."),
  user_id: Uuid.nullable().describe("User of the key; null for a service principal."),
})

export const ResourceName = z.string().min(1).max(100).describe("Name of the resource in the singular, such as `persona`.")

/** Names of the readable resources, or of one wanted resource. */
export function readableNames(declarations: Declarations, caller: Caller, wanted?: string): string[] {
  const all = declarations
    .items(Resources)
    .filter(({ identity, get }) => isAuthorised(get.access, caller) && (wanted ?? identity.name) === identity.name)
  return all.map(({ identity }) => identity.name)
}

/** The resource of a stored record. Returns undefined if the caller may not read it. */
export function readableResource(declarations: Declarations, caller: Caller, name = ""): DeclaredResource | undefined {
  const resource = declarations.get(Resources, name)
  return resource && isAuthorised(resource.get.access, caller) ? resource : undefined
}
