// Adds the workstream's external refs to its lists, so agents read them with each page.
import { z } from "zod"
import type { Workstreams } from "../workstreams.ts"
import { ExternalRefResource } from "./resource.ts"

interface ReadArgs {
  readonly organization: string
  readonly deps: { readonly workstreams: Workstreams }
}

export const refsBeside = {
  fields: { external_refs: z.array(ExternalRefResource).describe("Objects of providers that the workstream governs.") },
  async read({ slug }: { readonly slug: string }, { organization, deps }: ReadArgs) {
    return { external_refs: (await deps.workstreams.require(organization, slug)).external_refs }
  },
}
