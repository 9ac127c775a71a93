// PATCH /v1/integrations/{id}: changes the name, sharing and lending. The slug stays, since pipelines contain it.
import { z } from "zod"
import { AppError, Clock, callerKind, defineOperation, Name, requireRevision, resultOf, SlugOrId, Store, stageRevision } from "#core"
import { requireRightTo } from "../connect-rights.ts"
import { Connections, ConnectionView, managedAccess, viewOf } from "../connections.ts"
import { requireRunning } from "../departure.ts"
import { visibleConnection } from "./one.ts"

export const updateIntegration = defineOperation({
  name: "integrations.update",
  summary: "Rename an integration, share it or make it private, lend it or end that.",
  description:
    "The slug and the id stay. Credentials are replaced by integrations.connect with `rotate_credentials`. Members change their private integrations; sharing, lending, and changes of shared ones need an admin.",
  http: { method: "PATCH", path: "/v1/integrations/{id}" },
  access: { scope: "integrations:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    id: SlugOrId,
    name: Name.optional(),
    share_with_org: z.boolean().optional().describe("False: private to its connector; pipelines that use it fail from then on."),
    managed_access: z.enum(managedAccess).optional().describe("Only of connections with credentials; refused for authorizations."),
    expected_revision: z.int().min(1).optional(),
  }),
  output: ConnectionView,
  errors: ["invalid_argument", "permission_denied", "not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: { connection: "integrations.connect" },
      input: { id: resultOf("connection.integration_id"), name: "Our CRM", share_with_org: true, expected_revision: 1 },
    },
  ],
  mcp: { clears: ["managed_access"] },
  inject: { store: Store, clock: Clock },
  async handle({ input, caller, deps, work }) {
    const { id: ref, expected_revision, name, share_with_org } = input
    // The surface has already removed the value. A second check, because lending requires a person's decision.
    const managed_access = callerKind(caller) === "agent" ? undefined : input.managed_access
    const connection = await visibleConnection(deps.store, caller, ref)
    requireRightTo(caller, "change", { connection, shares: share_with_org, lends: managed_access === "managed_organizations" })
    if (share_with_org || managed_access === "managed_organizations") requireRunning(connection)
    requireRevision("integration", connection.revision, expected_revision)
    if (managed_access !== undefined && connection.credentials === null) {
      const problem = `"${connection.slug}" is connected by an authorization, which cannot be lent`
      throw new AppError("invalid_argument", `managed_access is refused: ${problem}.`, {
        reason: "managed_access_refused",
        fields: [{ path: "managed_access", message: problem }],
      })
    }
    const change = { name, shared: share_with_org, managed_access }
    return viewOf(stageRevision(work.in(Connections, caller.organization.id), connection, change, deps.clock.now()))
  },
  onConflict: async ({ error }) => error,
})
