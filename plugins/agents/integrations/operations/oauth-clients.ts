// Operations for an organization's own OAuth clients at the authorization servers of apps. Secrets are write-only.
import { z } from "zod"
import { AppError, Clock, defineOperation, PublicUrl, Slug, Store, timestamp, Vault } from "#core"
import { redirectUri } from "../oauth/authorization.ts"
import { clientContext, clientDocumentId, type StoredClient, StoredClients } from "../oauth/clients.ts"
import { stageUse } from "../own-apps/collections.ts"
import { OrganizationApps } from "../own-apps/organization-apps.ts"

const path = "/v1/integration-oauth-clients"
const appPath = `${path}/{app}`
const writing = { scope: "integrations:write", role: "admin" } as const

const ClientView = z.object({
  app: z.string(),
  client_id: z.string(),
  has_client_secret: z.boolean(),
  redirect_uri: z.string().describe("To be registered at the authorization server."),
  created_at: z.string(),
  updated_at: z.string(),
})

type ShownClient = Pick<StoredClient, "app" | "client_id" | "client_secret" | "created_at" | "updated_at">

function shown({ client_secret, ...client }: ShownClient, redirect_uri: string): z.input<typeof ClientView> {
  const { app, client_id, created_at, updated_at } = client
  return { app, client_id, has_client_secret: client_secret !== null, redirect_uri, created_at, updated_at }
}

const registered = { app: "hubspot", client_id: "0b1e5f0a", client_secret: "hubspot-client-secret" }

export const setOAuthClient = defineOperation({
  name: "integration_oauth_clients.set",
  summary: "Set the OAuth client that the organization is registered as at an app's authorization server.",
  description: "It is used in place of the operator's. Tokens that were granted to another client cannot be refreshed by it.",
  http: { method: "PUT", path: appPath },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    app: Slug,
    client_id: z.string().trim().min(1).max(2_000),
    client_secret: z.string().trim().min(1).max(4_000).optional().describe("Sealed, never shown; absent for a client without one."),
  }),
  output: ClientView,
  errors: ["invalid_argument", "aborted"],
  examples: [{ input: registered }],
  inject: { store: Store, vault: Vault, clock: Clock, apps: OrganizationApps, publicUrl: PublicUrl },
  async handle({ input: { app: name, client_id, client_secret }, caller, deps, work }) {
    const organization = caller.organization.id
    const app = await deps.apps.named(organization, name)
    if (!app.oauth) {
      const message = `${name} is not connected by OAuth 2`
      throw new AppError("invalid_argument", `app is refused: ${message}.`, {
        reason: "app_without_oauth",
        fields: [{ path: "app", message }],
      })
    }
    const id = clientDocumentId(organization, name)
    const before = await deps.store.open(StoredClients, organization).get(id)
    const now = timestamp(deps.clock.now())
    const sealed = client_secret === undefined ? null : { ...deps.vault.seal(client_secret, clientContext(id)) }
    const change = { client_id, client_secret: sealed, updated_at: now }
    if (before) work.in(StoredClients, organization).update(id, { $set: change }, { where: { updated_at: before.updated_at } })
    else work.in(StoredClients, organization).insert({ id, app: name, created_at: now, ...change })
    if (app.own) stageUse(work, organization, app.own)
    const own_app = app.own !== undefined
    return shown(
      { app: name, created_at: before?.created_at ?? now, ...change },
      redirectUri(deps.publicUrl, { organization, app: name, own_app }),
    )
  },
  onConflict: async ({ error }) => error,
})

export const listOAuthClients = defineOperation({
  name: "integration_oauth_clients.list",
  summary: "List the organization's OAuth clients; their secrets are never shown.",
  http: { method: "GET", path },
  access: { scope: "integrations:read", role: "admin" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["app", "client_id", "has_client_secret", "redirect_uri"],
  input: z.strictObject({}),
  output: z.object({ integration_oauth_clients: z.array(ClientView) }),
  errors: [],
  inject: { store: Store, apps: OrganizationApps, publicUrl: PublicUrl },
  async handle({ caller, deps }) {
    const organization = caller.organization.id
    const clients = await deps.store.open(StoredClients, organization).find({}, { sort: { app: 1 }, limit: 200 })
    const own = new Set((await deps.apps.all(organization)).flatMap(({ name, own }) => (own ? [name] : [])))
    const uriOf = ({ app }: StoredClient) => redirectUri(deps.publicUrl, { organization, app, own_app: own.has(app) })
    return { integration_oauth_clients: clients.map((client) => shown(client, uriOf(client))) }
  },
})

export const deleteOAuthClient = defineOperation({
  name: "integration_oauth_clients.delete",
  summary: "Delete an OAuth client of the organization, with its secret.",
  description: "Connections whose tokens were granted to it keep them, and cannot refresh them until it is set again.",
  http: { method: "DELETE", path: appPath },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ app: Slug }),
  output: z.object({ app: z.string(), deleted: z.literal(true) }),
  errors: ["not_found", "aborted"],
  examples: [
    {
      given: { client: { operation: "integration_oauth_clients.set", input: { ...registered, app: "notion" } } },
      input: { app: "notion" },
    },
  ],
  inject: { store: Store },
  async handle({ input: { app }, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await deps.store.open(StoredClients, organization).get(clientDocumentId(organization, app))
    if (!stored) {
      throw new AppError("not_found", `The organization has no OAuth client for ${JSON.stringify(app)}; GET ${path} lists them.`, {
        reason: "oauth_client_not_found",
      })
    }
    work.in(StoredClients, organization).remove(stored.id, { where: { updated_at: stored.updated_at } })
    return { app, deleted: true as const }
  },
})
