// GET /v1/integrations: the connections visible to the caller, with names of credentials only.
import { z } from "zod"
import { defineList } from "#core"
import { Connections, ConnectionView, viewOf, visibleTo } from "../connections.ts"

export const listIntegrations = defineList({
  name: "integrations.list",
  summary: "List connected integrations.",
  path: "/v1/integrations",
  access: { scope: "integrations:read", role: "guest" },
  columns: ["slug", "app", "name", "status", "shared"],
  input: { app: z.string().max(100).default("").describe("Only connections of this app.") },
  collection: Connections,
  where: (filter, { caller }) => ({ ...filter, ...visibleTo(caller) }),
  sort: { id: 1 },
  items: { integrations: ConnectionView },
  view: viewOf,
})
