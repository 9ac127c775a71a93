// What is kept of OAuth connections: authorizations in progress, and the tokens of those that were granted. Tickets
// and states are kept as hashes, everything that opens something sealed.
import { hash } from "node:crypto"
import { type Document, defineCollection, type Sealed } from "#core"

/** What a ticket and the states that it opens share. */
export interface Authorization extends Document {
  organization: string
  integration_id: string
  app: string
  /** Whether the app is the organization's own. */
  own_app: boolean
  scopes: string[]
  /** Empty: the service's own page. */
  return_url: string
  expires_at: string
}

/** A `connect_url` that was handed out; `id` is the hash of its ticket. */
export interface Ticket extends Authorization {
  /** How often it was opened. */
  opened: number
}

/** One trip of a browser to the authorization server; `id` is the hash of the state. */
export interface AuthorizationState extends Authorization {
  ticket_id: string
  /** Hash of the cookie that the browser was given. */
  browser: string
  /** Of PKCE. */
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

/** Tokens of one connection, whose id it has. */
export interface Grant extends Document {
  /** Counts the token responses; a refresh replaces only the generation that it read. */
  generation: number
  tokens: Sealed
  /** Of the access token; null: the server did not say. */
  expires_at: string | null
  /** When the server last refused to refresh it; null once it did. */
  refused_at: string | null
  /** Where the account's API is, of apps whose server tells it. */
  api_origin: string | null
  /** The client that the tokens were granted to; null: not noted. */
  client_id: string | null
  /** Whether the last refresh left the refresh token as it was: another one then loses nothing where its answer is not read. */
  keeps_refresh_token: boolean
  updated_at: string
}

export const Grants = defineCollection<Grant>()({
  name: "integration_oauth_grants",
  scope: "organization",
  times: ["expires_at", "refused_at", "updated_at"],
  indexes: [],
  audit: "none",
  // Grants that were kept before these were noted have none.
  restore: ({ api_origin, client_id, keeps_refresh_token, ...grant }) => ({
    ...grant,
    api_origin: (api_origin as string | null | undefined) ?? null,
    client_id: (client_id as string | null | undefined) ?? null,
    keeps_refresh_token: (keeps_refresh_token as boolean | undefined) ?? false,
  }),
  sealed: ({ id, organization_id = "", tokens }) => [{ path: "tokens", sealed: tokens, context: grantContext(organization_id, id) }],
})

/** Connections with a grant, by the client that it is of, over all organizations: revoking one may end those of others. */
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

/** What is stored of a ticket, a state or a cookie. */
export function hashed(secret: string): string {
  return hash("sha256", secret, "hex")
}
