// Stored data of OAuth connections: authorizations in progress, and granted tokens. Tickets and states are stored as hashes,
// secrets are sealed.
import { hash } from "node:crypto"
import { type Document, defineCollection, type Sealed } from "#core"

/** Common fields of a ticket and its states. */
export interface Authorization extends Document {
  organization: string
  integration_id: string
  app: string
  /** True for an app of the organization itself. */
  own_app: boolean
  scopes: string[]
  /** Empty: the service's own page. */
  return_url: string
  expires_at: string
}

/** An issued `connect_url`. `id` is the hash of its ticket. */
export interface Ticket extends Authorization {
  /** Number of openings. */
  opened: number
}

/** A browser's visit to the authorization server. `id` is the hash of the state. */
export interface AuthorizationState extends Authorization {
  ticket_id: string
  /** Hash of the browser's cookie. */
  browser: string
  /** PKCE verifier. */
  verifier: Sealed
}

export const Tickets = defineCollection<Ticket>()({
  name: "integration_oauth_tickets",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

export const AuthorizationStates = defineCollection<AuthorizationState>()({
  name: "integration_oauth_states",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
  sealed: ({ id, verifier }) => [{ path: "verifier", sealed: verifier, context: verifierContext(id) }],
})

/** Tokens of a connection, with the same id. */
export interface Grant extends Document {
  /** Counts the token responses. A refresh replaces only the generation it has read. */
  generation: number
  tokens: Sealed
  /** End of the access token. Null: unknown. */
  expires_at: string | null
  /** Time of the server's last refusal. Null after a successful refresh. */
  refused_at: string | null
  /** API origin of the account, if the app's server reports it. */
  api_origin: string | null
  /** The client of the tokens. Null: unknown. */
  client_id: string | null
  /** True if the last refresh returned the same refresh token. A lost answer of the next refresh is then harmless. */
  keeps_refresh_token: boolean
  updated_at: string
}

export const Grants = defineCollection<Grant>()({
  name: "integration_oauth_grants",
  scope: "organization",
  times: ["expires_at", "refused_at", "updated_at"],
  indexes: [],
  audit: "none",
  // Older grants lack these fields.
  restore: ({ api_origin, client_id, keeps_refresh_token, ...grant }) => ({
    ...grant,
    api_origin: (api_origin as string | null | undefined) ?? null,
    client_id: (client_id as string | null | undefined) ?? null,
    keeps_refresh_token: (keeps_refresh_token as boolean | undefined) ?? false,
  }),
  sealed: ({ id, organization_id = "", tokens }) => [{ path: "tokens", sealed: tokens, context: grantContext(organization_id, id) }],
})

/** Connections with a grant, by client, over all organizations. Revoking a grant may end grants of others. */
export interface GrantHolder extends Document {
  client: string
}

export const GrantHolders = defineCollection<GrantHolder>()({
  name: "integration_oauth_grant_holders",
  scope: "global",
  times: [],
  indexes: [{ fields: ["client"] }],
  audit: "none",
})

export function verifierContext(stateId: string): string {
  return `OAuth verifier ${stateId}`
}

export function grantContext(organization: string, id: string): string {
  return `OAuth grant:${organization}:${id}`
}

/** Returns the stored hash of a ticket, state or cookie. */
export function hashed(secret: string): string {
  return hash("sha256", secret, "hex")
}
