// Suspends and resumes organizations. The operator and staff can stop the work of an organization.
import { z } from "zod"
import { defineOperation, resultOf, SlugOrId } from "#core"
import { Organizations, requireOrganization } from "../directory.ts"
import { OrganizationResource, toResource } from "./organization.ts"
import { Pausing } from "./pausing.ts"

const access = { scope: "organizations:write", role: "admin", closedToAgents: true, staff: true, operator: {} } as const
const mcp = { absent: "The operator decides whether an organization is suspended." }
const target = { organization: SlugOrId.describe("Slug or UUID of any organization of the service.") }
const inject = { organizations: Organizations, pausing: Pausing }
const suspended = {
  made: "organizations.create",
  suspended: { operation: "organizations.suspend", input: { organization: resultOf("made.id") } },
}

export const suspendOrganization = defineOperation({
  name: "organizations.suspend",
  summary: "Suspend an organization: it accepts no event and no call, and its jobs wait. For staff.",
  description:
    "Events and calls get 403 `organization_suspended` with the note. Its admins still read, for example to export their data. Stored data stays. A repeated call changes the note.",
  http: { method: "POST", path: "/v1/organizations/{organization}/suspend" },
  access,
  mcp,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...target,
    note: z.string().trim().max(500).default("").describe("The reason that its members and senders read."),
  }),
  output: OrganizationResource,
  errors: ["not_found", "permission_denied", "failed_precondition"],
  examples: [{ given: { made: "organizations.create" }, input: { organization: resultOf("made.id"), note: "Unpaid since October." } }],
  inject,
  async handle({ input: { organization, note }, deps: { organizations, pausing }, work }) {
    return toResource(await pausing.suspend(work, await requireOrganization(organizations, organization), note))
  },
})

export const resumeOrganization = defineOperation({
  name: "organizations.resume",
  summary: "End the suspension of an organization: its jobs, schedules and heartbeats go on. For staff.",
  http: { method: "POST", path: "/v1/organizations/{organization}/resume" },
  access: { ...access, whilePaused: true },
  mcp,
  hints: { readOnly: false, destructive: false, idempotent: true },
  input: z.strictObject(target),
  output: OrganizationResource,
  errors: ["not_found", "permission_denied"],
  examples: [{ given: suspended, input: { organization: resultOf("suspended.id") } }],
  inject,
  async handle({ input: { organization }, deps: { organizations, pausing }, work }) {
    return toResource(pausing.resume(work, await requireOrganization(organizations, organization)))
  },
})
