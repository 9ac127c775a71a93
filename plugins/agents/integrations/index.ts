// Connections to other services: credentials stored sealed, used by pipelines and never shown again.
import { z } from "zod"
import { Clock, definePlugin, Ids, injected, JobQueue, Leases, Live, Log, OutgoingHttp, PublicUrl, Store, UnitsOfWork, Vault } from "#core"
import { Pauses } from "#core/engine"
import { Departures, Organizations } from "../../platform/organizations/index.ts"
import { createIntegrationApps, IntegrationApps } from "./app.ts"
import { appOf } from "./apps/from-document.ts"
import { httpApp } from "./apps/http.ts"
import { readAppDocuments } from "./apps/read.ts"
import { Broker, BrokerToken, endBrokerConnection } from "./broker/broker.ts"
import { BrokerSettings, Nango } from "./broker/nango.ts"
import { brokerConnect, brokerDone } from "./broker/routes.ts"
import { CallGuards } from "./call-guards.ts"
import { ConnectionLinks } from "./connection-links.ts"
import { Connections } from "./connections.ts"
import { pauseConnectionsOf } from "./departure.ts"
import { checkHealth, HealthChecks } from "./health/checks.ts"
import { connectionsChannel } from "./health/record.ts"
import { checkIntervals, HealthSchedule } from "./health/schedule.ts"
import { createIntegrations, Integrations } from "./integrations.ts"
import { CallCounts } from "./limits/collections.ts"
import { OAuthClientSettings, StoredClients } from "./oauth/clients.ts"
import { AuthorizationStates, GrantHolders, Grants, Tickets } from "./oauth/collections.ts"
import { GrantRevocation, revokeGrant } from "./oauth/revocation.ts"
import { AuthorizationFlow, authorize, callback, ownAppCallback } from "./oauth/routes.ts"
import { createOAuth, OAuth } from "./oauth/service.ts"
import { listIntegrationApps } from "./operations/apps.ts"
import { connectIntegration } from "./operations/connect.ts"
import { handOverIntegration } from "./operations/hand-over.ts"
import { listIntegrations } from "./operations/list.ts"
import { deleteOAuthClient, listOAuthClients, setOAuthClient } from "./operations/oauth-clients.ts"
import { disconnectIntegration, getIntegration } from "./operations/one.ts"
import { createApp, deleteApp, getApp, updateApp } from "./operations/own-apps.ts"
import { testIntegration } from "./operations/test.ts"
import { updateIntegration } from "./operations/update.ts"
import { OwnApps } from "./own-apps/collections.ts"
import { OrganizationApps } from "./own-apps/organization-apps.ts"
import { reasons } from "./reasons.ts"
import { rehearsedConnection } from "./rehearsal.ts"

export { defineIntegrationApp, type IntegrationApp, IntegrationApps, type IntegrationRequest } from "./app.ts"
export { type CallGuard, CallGuards } from "./call-guards.ts"
export { type ConnectionLink, ConnectionLinks } from "./connection-links.ts"
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
    broker: BrokerSettings.optional().describe("A connection broker (Nango) for apps that name an integration there."),
    health_checks: z.enum(checkIntervals).default("1h").describe("How often the test call of each connection is made."),
    oauth_clients: z
      .record(z.string(), OAuthClientSettings)
      .default({})
      .describe("By slug of the app: the client that the service is registered as at its authorization server."),
  }),
  extensionPoints: [CallGuards, ConnectionLinks],
  extend: [[Departures, injected({ store: Store, clock: Clock, schedule: HealthSchedule }, pauseConnectionsOf)]],
  register(registrar, config) {
    registrar.collections(Connections, Tickets, AuthorizationStates, Grants, GrantHolders, StoredClients, OwnApps, CallCounts)
    registrar.routes(authorize, callback, ownAppCallback, brokerConnect, brokerDone)
    registrar.operations(connectIntegration, listIntegrations, getIntegration, disconnectIntegration)
    registrar.operations(updateIntegration, testIntegration, listIntegrationApps, createApp, getApp, updateApp, deleteApp)
    registrar.operations(handOverIntegration)
    registrar.operations(setOAuthClient, listOAuthClients, deleteOAuthClient)
    registrar.channels(connectionsChannel)
    registrar.jobs(checkHealth)
    registrar.provide(HealthChecks)
    registrar.provide(HealthSchedule, { create: (deps) => new HealthSchedule({ ...deps, interval: config.health_checks }) })
    registrar.provide(OrganizationApps)
    registrar.rehearsal({ name: "connection", run: rehearsedConnection })
    registrar.provide(IntegrationApps, { create: () => createIntegrationApps(httpApp, ...readAppDocuments(config.app_folders).map(appOf)) })
    registrar.provide(OAuth, {
      inject: {
        store: Store,
        works: UnitsOfWork,
        vault: Vault,
        clock: Clock,
        ids: Ids,
        leases: Leases,
        log: Log,
        http: OutgoingHttp,
        publicUrl: PublicUrl,
        apps: OrganizationApps,
        jobs: JobQueue,
        live: Live,
        schedule: HealthSchedule,
        pauses: Pauses,
        organizations: Organizations,
      },
      create({ organizations, ...deps }) {
        const organizationName = async (id: string) => (await organizations.byId(id))?.name ?? ""
        return createOAuth({ ...deps, organizationName }, config.oauth_clients)
      },
      stop: ({ access }) => access.stop(),
    })
    registrar.jobs(revokeGrant, endBrokerConnection)
    registrar.provide(BrokerToken, {
      inject: {
        store: Store,
        works: UnitsOfWork,
        clock: Clock,
        live: Live,
        jobs: JobQueue,
        publicUrl: PublicUrl,
        apps: OrganizationApps,
        schedule: HealthSchedule,
        pauses: Pauses,
        organizations: Organizations,
        http: OutgoingHttp,
      },
      create({ organizations, http, ...deps }) {
        const organizationName = async (id: string) => (await organizations.byId(id))?.name ?? ""
        return new Broker({ ...deps, organizationName, nango: config.broker && new Nango(http, config.broker) })
      },
    })
    registrar.provide(GrantRevocation, { inject: { oauth: OAuth }, create: ({ oauth }) => oauth.revocation })
    registrar.provide(AuthorizationFlow, { inject: { oauth: OAuth }, create: ({ oauth }) => oauth.authorizations })
    registrar.provide(Integrations, {
      inject: {
        guards: CallGuards,
        store: Store,
        vault: Vault,
        http: OutgoingHttp,
        apps: OrganizationApps,
        oauth: OAuth,
        broker: BrokerToken,
        works: UnitsOfWork,
        clock: Clock,
        organizations: Organizations,
      },
      create({ organizations, ...deps }) {
        const managerOf = async (organization: string) => (await organizations.byId(organization))?.managed_by?.id
        return createIntegrations({ ...deps, managerOf })
      },
    })
  },
})
