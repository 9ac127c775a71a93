// Declares how organizations begin, stop and go on.
import { z } from "zod"
import type { Registrar } from "#core"
import { OrganizationSlugsCollection } from "../collections.ts"
import { archiveOrganization, restoreOrganization } from "./archive.ts"
import { Creation, CreationCountsCollection, type CreationRules, createCreation, creationNeeds, selfServices } from "./creation.ts"
import { createOrganization, listOrganizations } from "./organizations.ts"
import { createPausing, Pausing, pausingNeeds } from "./pausing.ts"
import { resumeOrganization, suspendOrganization } from "./suspension.ts"

/** Settings of this part. */
export const tenantSettings = {
  self_service: z
    .enum(selfServices)
    .default("owners")
    .describe("Creators of organizations, beside the operator: nobody, owners of an organization, or everyone with a membership."),
  max_created_per_day: z.int().min(1).max(1_000).default(20).describe("Organizations that one user creates on one day of UTC."),
}

export function registerTenants(reg: Registrar, settings: CreationRules): void {
  reg.collections(OrganizationSlugsCollection, CreationCountsCollection)
  reg.operations(createOrganization, listOrganizations)
  reg.operations(archiveOrganization, restoreOrganization, suspendOrganization, resumeOrganization)
  reg.provide(Pausing, {
    inject: pausingNeeds,
    create: createPausing,
    start: (pausing) => pausing.start(),
  })
  reg.provide(Creation, {
    inject: creationNeeds,
    create: (deps) => createCreation(deps, settings),
  })
}
