// OAuth clients of apps at their authorization servers: an organization's own client, else the configured client. The configured
// client is only for the service's own apps. An organization's own app could send the client's secret anywhere.
import { z } from "zod"
import { AppError, type Document, defineCollection, derivedUuid, type Sealed, type Store, type Vault } from "#core"
import type { AnyIntegrationApp } from "../app.ts"
import type { OAuthClient } from "../apps/oauth-provider.ts"

export const OAuthClientSettings = z.strictObject({
  client_id: z.string().min(1).max(2_000),
  client_secret: z.string().min(1).max(4_000).optional().describe("Best as `{ from_env: NAME }`; absent for a client without one."),
})

export interface StoredClient extends Document {
  app: string
  client_id: string
  client_secret: Sealed | null
  created_at: string
  updated_at: string
}

export const StoredClients = defineCollection<StoredClient>()({
  name: "integration_oauth_clients",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [{ fields: ["app"] }],
  sealed: ({ id, client_secret }) => (client_secret ? [{ path: "client_secret", sealed: client_secret, context: clientContext(id) }] : []),
})

export function clientDocumentId(organization: string, app: string): string {
  return derivedUuid("OAuth client", organization, app)
}

export function clientContext(id: string): string {
  return `OAuth client ${id}`
}

type App = Pick<AnyIntegrationApp, "name" | "own">

export interface OAuthClients {
  find(organization: string, app: App): Promise<OAuthClient | undefined>
  /** Returns the client of the granted tokens, if still known. Throws `failed_precondition` if the app has no client. */
  of(organization: string, app: App, clientId?: string | null): Promise<OAuthClient>
}

interface ClientsDeps {
  readonly store: Store
  readonly vault: Vault
}

export function createOAuthClients({ store, vault }: ClientsDeps, configured: Readonly<Record<string, OAuthClient>>): OAuthClients {
  async function known(organization: string, { name, own }: App): Promise<OAuthClient[]> {
    const stored = await store.open(StoredClients, organization).get(clientDocumentId(organization, name))
    const clients: OAuthClient[] = stored ? [opened(stored)] : []
    const shared = !own && Object.hasOwn(configured, name) ? configured[name] : undefined
    return shared ? [...clients, shared] : clients
  }

  function opened({ id, client_id, client_secret }: StoredClient): OAuthClient {
    return { client_id, client_secret: client_secret ? vault.open(client_secret, clientContext(id)) : undefined }
  }

  return {
    find: async (organization, app) => (await known(organization, app))[0],
    async of(organization, app, clientId) {
      const clients = await known(organization, app)
      const client = clients.find(({ client_id }) => client_id === clientId) ?? clients[0]
      if (client) return client
      const message = `The service is not set up for authorizations of ${app.name}: it has no OAuth client there.`
      throw new AppError("failed_precondition", message, { reason: "authorization_unavailable", retryable: false })
    },
  }
}
