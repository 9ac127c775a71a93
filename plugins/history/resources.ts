// The resources whose past a caller may see.

import { z } from "zod"
import { type Caller, Uuid } from "#core"
import { type Declarations, type DeclaredResource, isAuthorised, Resources } from "#core/engine"

export const Actor = z.object({
  credential_id: z.string().describe("Key or token of the call."),
  user_id: Uuid.nullable().describe("User of the key; null for a service principal."),
})

export const ResourceName = z.string().min(1).max(100).describe("Name of the resource in the singular, such as `persona`.")

/** Resources that the caller may read. */
export function readable(declarations: Declarations, caller: Caller): readonly DeclaredResource[] {
  return declarations.items(Resources).filter(({ get }) => isAuthorised(get.access, caller))
}

/** Names of the readable resources. With a wanted name, that name alone or none. */
export function readableNames(declarations: Declarations, caller: Caller, wanted?: string): string[] {
  const names = readable(declarations, caller).map(({ identity }) => identity.name)
  return wanted === undefined ? names : names.filter((name) => name === wanted)
}
