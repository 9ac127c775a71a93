// Stored connections. Credentials are sealed to the organization and the connection, so a sealed text copied to another document
// cannot be opened.
import { z } from "zod"
import { type Caller, type Document, defineCollection, type Sealed, type Vault } from "#core"
import type { BrokerPlace } from "./broker/broker.ts"
import { type Health, healthFields, unknownHealth } from "./health/health.ts"
import { type AuthorizationError, authorizationErrorFields } from "./oauth/authorization-error.ts"

export interface Connection extends Document {
  app: string
  /** True for an app of the organization itself. */
  own_app: boolean
  name: string
  slug: string
  status: "connected" | "pending_authorization" | "authorization_expired"
  /** The user, or the credential of a caller without a user. */
  connected_by: string
  shared: boolean
  /** True after the connector left. The connection is unusable until an admin takes it over. */
  paused: boolean
  managed_access: ManagedAccess
  scopes: string[]
  credentials: Sealed | null
  /** Set if a broker keeps the access. */
  broker: BrokerPlace | null
  /** Names of the credential fields, shown instead of the values. */
  credential_fields: string[]
  health: Health
  /** Error of the last authorization or refresh. Null after success. */
  authorization_error: AuthorizationError | null
  revision: number
  created_at: string
  updated_at: string
}

export const managedAccess = ["none", "managed_organizations"] as const
export type ManagedAccess = (typeof managedAccess)[number]

export const Connections = defineCollection<Connection>()({
  name: "integrations",
  scope: "organization",
  times: ["created_at", "updated_at"],
  // Connections older than health checks and own apps lack these fields.
  restore: ({ health, own_app, broker, authorization_error, paused, ...connection }) => ({
    ...connection,
    paused: (paused as boolean | undefined) ?? false,
    health: (health as Health | undefined) ?? unknownHealth,
    broker: (broker as BrokerPlace | null | undefined) ?? null,
    own_app: (own_app as boolean | undefined) ?? false,
    authorization_error: (authorization_error as AuthorizationError | null | undefined) ?? null,
  }),
  indexes: [{ fields: ["slug"], unique: true }, { fields: ["app"] }],
  sealed: ({ id, organization_id = "", credentials }) =>
    credentials ? [{ path: "credentials", sealed: credentials, context: contextOf(organization_id, id) }] : [],
})

/** Output schema of a connection. */
export const ConnectionView = z.object({
  id: z.uuid(),
  app: z.string(),
  name: z.string(),
  slug: z.string(),
  status: z.string(),
  shared: z.boolean().describe("Whether the organization's pipelines can use it, not only its connector."),
  paused: z.boolean().describe("Its connector left the organization, and no admin has taken it over (integrations.hand_over)."),
  managed_access: z.enum(managedAccess),
  scopes: z.array(z.string()),
  credentials: z.record(z.string(), z.literal("[redacted]")).describe("Names of the stored credentials; never their values."),
  health: z.object(healthFields),
  authorization_error: z
    .object(authorizationErrorFields)
    .nullable()
    .describe("Why the last authorization, or refresh of its tokens, failed; null where it worked."),
  revision: z.int(),
  created_at: z.string(),
  updated_at: z.string(),
})
export type ConnectionView = z.infer<typeof ConnectionView>

export function viewOf(connection: Connection): ConnectionView {
  const { id, app, name, slug, status, shared, paused, managed_access, scopes, authorization_error, revision, created_at, updated_at } =
    connection
  const { failures: _, ...health } = connection.health
  const credentials = Object.fromEntries(connection.credential_fields.map((field) => [field, "[redacted]" as const]))
  return {
    id,
    app,
    name,
    slug,
    status,
    shared,
    paused,
    managed_access,
    scopes,
    credentials,
    health,
    authorization_error,
    revision,
    created_at,
    updated_at,
  }
}

export function sealCredentials(vault: Vault, organization: string, id: string, credentials: unknown): Sealed {
  return vault.seal(JSON.stringify(credentials), contextOf(organization, id))
}

export function openCredentials(vault: Vault, organization: string, connection: Connection): unknown {
  return connection.credentials === null
    ? undefined
    : JSON.parse(vault.open(connection.credentials, contextOf(organization, connection.id)))
}

function contextOf(organization: string, id: string): string {
  return `integration:${organization}:${id}`
}

export function connectorOf(caller: Caller): string {
  return caller.user?.id ?? caller.credential.id
}

/** Selects the connections available to the organization's own pipelines: shared and lent connections. */
export const usedByPipelines = { $or: [{ shared: true }, { managed_access: "managed_organizations" }] }

/** Returns true if the organization's own pipelines may use the connection. */
export function isUsedByPipelines({ shared, managed_access }: Pick<Connection, "shared" | "managed_access">): boolean {
  return shared || managed_access === "managed_organizations"
}

/**
 * Returns the filter of visible connections. Private connections are visible to their connector. An owner sees them too, to be
 * able to end them.
 */
export function visibleTo(caller: Caller): { $or: { shared?: boolean; connected_by?: string }[] } | Record<never, never> {
  return caller.role === "owner" ? {} : { $or: [{ shared: true }, { connected_by: connectorOf(caller) }] }
}
