// GET /v1/integrations: the connections that the caller may see, credentials by name only.
import { z } from "zod"
import { defineOperation, Pager, pageInput, Store } from "#core"
import { Connections, ConnectionView, viewOf, visibleTo } from "../connections.ts"

export const listIntegrations = defineOperation({
  name: "integrations.list",
  summary: "List connected integrations.",
  http: { method: "GET", path: "/v1/integrations" },
  access: { scope: "integrations:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["slug", "app", "name", "status", "shared"],
  input: z.strictObject({ app: z.string().max(100).default("").describe("Only connections of this app."), ...pageInput }),
  output: z.object({ integrations: z.array(ConnectionView), next_cursor: z.string() }),
  errors: ["invalid_argument"],
  inject: { store: Store, pager: Pager },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const filter = { ...(input.app ? { app: input.app } : {}), ...visibleTo(caller) }
    const collection = deps.store.open(Connections, organization)
    const cursorScope = `integrations.list:${JSON.stringify(filter)}`
    const page = await deps.pager.page({ collection, organization, cursorScope, filter, request: input })
    return { integrations: page.items.map(viewOf), next_cursor: page.next_cursor }
  },
})
