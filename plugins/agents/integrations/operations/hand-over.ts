// POST /v1/integrations/{id}/hand-over: gives a private connection a new connector, before or after a departure.
import { z } from "zod"
import { AppError, Clock, defineOperation, resultOf, SlugOrId, Store, stageRevision, Uuid } from "#core"
import { Organizations } from "../../../platform/organizations/index.ts"
import { Connections, ConnectionView, connectorOf, viewOf } from "../connections.ts"
import { HealthSchedule } from "../health/schedule.ts"
import { byRef } from "../integrations.ts"
import { OrganizationApps } from "../own-apps/organization-apps.ts"

const ownCrm = { app: "http", name: "My CRM", credentials: { base_url: "https://api.crm.example.com/v2" } }

export const handOverIntegration = defineOperation({
  name: "integrations.hand_over",
  summary: "Take over the paused integration of a person who left, or hand it or your own to another admin.",
  description: "Only private integrations. The credentials stay sealed; the new connector tests, rotates, shares or disconnects it.",
  http: { method: "POST", path: "/v1/integrations/{id}/hand-over" },
  access: { scope: "integrations:write", role: "admin", closedToAgents: true },
  hints: { readOnly: false, destructive: true, idempotent: false },
  mcp: { absent: "A person decides who gets the credentials of another person." },
  input: z.strictObject({ id: SlugOrId, user_id: Uuid.optional().describe("An admin or owner; the caller unless given.") }),
  output: ConnectionView,
  errors: ["invalid_argument", "not_found", "aborted"],
  examples: [
    { given: { connection: { operation: "integrations.connect", input: ownCrm } }, input: { id: resultOf("connection.integration_id") } },
  ],
  inject: { store: Store, clock: Clock, organizations: Organizations, schedule: HealthSchedule, apps: OrganizationApps },
  async handle({ input: { id: ref, user_id }, caller, deps, work }) {
    const organization = caller.organization.id
    const free = { $or: [{ paused: true }, { shared: false, connected_by: connectorOf(caller) }] }
    const match = await byRef(deps.store.open(Connections, organization), ref, free)
    if (!match) {
      const message = `No integration ${JSON.stringify(ref)} can be handed over: it is neither paused nor a private one of yours.`
      throw new AppError("not_found", message, { reason: "integration_not_found" })
    }
    if (user_id !== undefined) await requireAdmin(deps.organizations, organization, user_id)
    const change = { paused: false, connected_by: user_id ?? connectorOf(caller) }
    const connection = stageRevision(work.in(Connections, organization), match, change, deps.clock.now())
    deps.schedule.set(work, organization, connection, await deps.apps.find(organization, connection))
    return viewOf(connection)
  },
  onConflict: async ({ error }) => error,
})

/** Throws `not_found` unless the user is an admin or owner of the organization. */
async function requireAdmin(organizations: Organizations, organization: string, user: string): Promise<void> {
  const role = (await organizations.membership(organization, user))?.role
  if (role === "admin" || role === "owner") return
  throw new AppError("not_found", `The organization has no admin ${user}; GET /v1/members lists the members.`, {
    reason: "member_not_found",
  })
}
