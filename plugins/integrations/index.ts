// Connections to other services: credentials kept sealed, used by pipelines and never shown again.
import { z } from "zod"
import { definePlugin, OutgoingHttp, Store, Vault } from "#core"
import { Organizations } from "../organizations/index.ts"
import { createIntegrationApps, IntegrationApps } from "./app.ts"
import { appOf } from "./apps/from-document.ts"
import { httpApp } from "./apps/http.ts"
import { readAppDocuments } from "./apps/read.ts"
import { Connections } from "./connections.ts"
import { createIntegrations, Integrations } from "./integrations.ts"
import { listIntegrationApps } from "./operations/apps.ts"
import { connectIntegration } from "./operations/connect.ts"
import { listIntegrations } from "./operations/list.ts"
import { disconnectIntegration, getIntegration } from "./operations/one.ts"
import { reasons } from "./reasons.ts"
import { rehearsedConnection } from "./rehearsal.ts"

export { defineIntegrationApp, type IntegrationApp, IntegrationApps } from "./app.ts"
export { Integrations } from "./integrations.ts"

export default definePlugin({
  id: "integrations",
  reasons,
  needs: ["organizations", "outgoing-http"],
  config: z.strictObject({
    app_folders: z
      .array(z.string().min(1))
      .default(["config/apps"])
      .describe("Folders with documents of further apps, relative to the project; read at start."),
  }),
  register(registrar, config) {
    registrar.collections(Connections)
    registrar.operations(connectIntegration, listIntegrations, getIntegration, disconnectIntegration)
    registrar.operations(listIntegrationApps)
    registrar.rehearsal({ name: "connection", run: rehearsedConnection })
    registrar.provide(IntegrationApps, { create: () => createIntegrationApps(httpApp, ...readAppDocuments(config.app_folders).map(appOf)) })
    registrar.provide(Integrations, {
      inject: { store: Store, vault: Vault, http: OutgoingHttp, apps: IntegrationApps, organizations: Organizations },
      create({ organizations, ...deps }) {
        const managerOf = async (organization: string) => (await organizations.byId(organization))?.managed_by?.id
        return createIntegrations({ ...deps, managerOf })
      },
    })
  },
})
