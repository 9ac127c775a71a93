// Archives and restores an organization.
import { z } from "zod"
import { type Caller, defineOperation, resultOf, SlugOrId } from "#core"
import type { Organization } from "../collections.ts"
import { Organizations, requireOwned } from "../directory.ts"
import { OrganizationResource, toResource } from "./organization.ts"
import { Pausing, suspendedError } from "./pausing.ts"

const access = { scope: "organization:write", role: "owner", closedToAgents: true, freshSignIn: true, whilePaused: true } as const
const mcp = { absent: "A person decides whether an organization stops its work." }
const input = z.strictObject({
  organization: SlugOrId.optional().describe("Slug or UUID of an organization that the signed-in person owns; this one if absent."),
})
const inject = { organizations: Organizations, pausing: Pausing }
const example = { given: { made: "organizations.create" }, input: { organization: resultOf("made.id") } }

export const archiveOrganization = defineOperation({
  name: "organization.archive",
  summary: "Archive an organization: it becomes read-only, and its jobs wait until it is restored.",
  description:
    "Events, forms and uploads get 403 `organization_archived`, and live connections end. Opt-out links still work. Documents stay as they are.",
  http: { method: "POST", path: "/v1/organization/archive" },
  access,
  mcp,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input,
  output: OrganizationResource,
  errors: ["not_found", "permission_denied", "failed_precondition"],
  examples: [example],
  inject,
  async handle({ input, caller, deps: { organizations, pausing }, work }) {
    const organization = await activeOwn(organizations, caller, input.organization)
    return toResource(await pausing.archive(work, organization, caller.user?.id ?? null))
  },
})

export const restoreOrganization = defineOperation({
  name: "organization.restore",
  summary: "Restore an archived organization: its jobs, schedules and heartbeats go on.",
  http: { method: "POST", path: "/v1/organization/restore" },
  access,
  mcp,
  hints: { readOnly: false, destructive: false, idempotent: true },
  input,
  output: OrganizationResource,
  errors: ["not_found", "permission_denied"],
  examples: [
    {
      given: {
        made: "organizations.create",
        archived: { operation: "organization.archive", input: { organization: resultOf("made.id") } },
      },
      input: { organization: resultOf("archived.id") },
    },
  ],
  inject,
  async handle({ input, caller, deps: { organizations, pausing }, work }) {
    return toResource(pausing.restore(work, await activeOwn(organizations, caller, input.organization)))
  },
})

/** Throws `permission_denied` for a suspended organization. */
async function activeOwn(organizations: Organizations, caller: Caller, reference = caller.organization.id): Promise<Organization> {
  const organization = await requireOwned(organizations, caller, reference)
  if (organization.suspended) throw suspendedError(organization.slug, organization.suspended)
  return organization
}
