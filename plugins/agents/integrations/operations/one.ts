// GET and DELETE /v1/integrations/{id}: reads a connection, or ends it and deletes its sealed credentials.
import { z } from "zod"
import { AppError, type Caller, defineOperation, resultOf, SlugOrId, Store } from "#core"
import { BrokerToken } from "../broker/broker.ts"
import { requireRightTo } from "../connect-rights.ts"
import { type Connection, Connections, ConnectionView, viewOf, visibleTo } from "../connections.ts"
import { HealthSchedule } from "../health/schedule.ts"
import { byRef } from "../integrations.ts"
import { GrantRevocation } from "../oauth/revocation.ts"

const connected = { given: { connection: "integrations.connect" }, input: { id: resultOf("connection.integration_id") } }

export const getIntegration = defineOperation({
  name: "integrations.get",
  summary: "Read one integration; its credentials are never shown.",
  http: { method: "GET", path: "/v1/integrations/{id}" },
  access: { scope: "integrations:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: SlugOrId }),
  output: ConnectionView,
  errors: ["not_found"],
  examples: [connected],
  inject: { store: Store },
  handle: async ({ input, caller, deps }) => viewOf(await visibleConnection(deps.store, caller, input.id)),
})

export const disconnectIntegration = defineOperation({
  name: "integrations.disconnect",
  summary: "Disconnect an integration and destroy its credentials.",
  description:
    "What was granted by an authorization is revoked at the app's authorization server, where that offers it. Members disconnect their private integrations; shared ones need an admin.",
  http: { method: "DELETE", path: "/v1/integrations/{id}" },
  access: { scope: "integrations:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({ id: SlugOrId }),
  output: z.object({ integration_id: z.uuid(), status: z.literal("disconnected") }),
  errors: ["permission_denied", "not_found", "aborted"],
  examples: [connected],
  inject: { store: Store, schedule: HealthSchedule, revocation: GrantRevocation, broker: BrokerToken },
  async handle({ input, caller, deps, work }) {
    const connection = await visibleConnection(deps.store, caller, input.id)
    requireRightTo(caller, "disconnect", { connection })
    const { id, revision } = connection
    await deps.revocation.stage(work, caller.organization.id, connection)
    deps.broker.stageEnd(work, caller.organization.id, connection)
    work.in(Connections, caller.organization.id).remove(id, { where: { revision } })
    deps.schedule.end(work, id)
    return { integration_id: id, status: "disconnected" as const }
  },
  onConflict: async ({ error }) => error,
})

/** Throws `not_found` if the connection is missing or hidden from the caller. */
export async function visibleConnection(store: Store, caller: Caller, ref: string): Promise<Connection> {
  const connection = await byRef(store.open(Connections, caller.organization.id), ref, visibleTo(caller))
  if (connection) return connection
  throw new AppError("not_found", `The integration ${JSON.stringify(ref)} does not exist; GET /v1/integrations lists them.`, {
    reason: "integration_not_found",
  })
}
