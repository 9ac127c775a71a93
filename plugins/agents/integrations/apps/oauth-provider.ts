// An authorization server, as the document of an app declares it, and the client that the service is registered there as.
export interface OAuthProvider {
  /** Set where responses must name it (RFC 9207). */
  readonly issuer: string | undefined
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  /** Told of tokens that are no longer used (RFC 7009). */
  readonly revocation_endpoint: string | undefined
  readonly client_auth: "basic" | "body"
  /** Asked for where a caller names none. */
  readonly scopes: readonly string[]
  readonly scope_separator: string
  /** Added to the authorization request. */
  readonly parameters: Readonly<Record<string, string>>
  /** Sent with requests to the token and revocation endpoints. */
  readonly headers: Readonly<Record<string, string>>
  readonly token_body: "form" | "json"
  /** `account`: revoking a token ends all that the account granted to the client. */
  readonly revocation_ends: "grant" | "account"
  /** `token`: the access token revokes itself. */
  readonly revocation_auth: "client" | "token"
  /** Beside "bearer". */
  readonly bearer_types: readonly string[]
  /** Beside `invalid_grant`. */
  readonly invalid_grant_codes: readonly string[]
  /** Of an API whose origin differs between accounts. */
  readonly api_origin: ApiOrigin | undefined
}

/** Who tells the origin of an account's API. */
export interface ApiOrigin {
  /** Asked with the new token; absent: the token response tells. */
  readonly url: string | undefined
  /** Holds an absolute URL. */
  readonly field: string
  /** Those that may be told, with all below them. */
  readonly hosts: readonly string[]
  /** What carries the token to `url`. */
  sent(token: string): { readonly headers: Readonly<Record<string, string>>; readonly query?: Readonly<Record<string, string>> }
}

export interface OAuthClient {
  readonly client_id: string
  /** Absent for a client without one, which proves itself by PKCE alone. */
  readonly client_secret?: string | undefined
}

/** https; http on this machine alone, which the outgoing client refuses unless an operator allows it. */
export function isSecureUrl(text: string): boolean {
  if (!URL.canParse(text) || /[\s\\#]/.test(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username || password) return false
  return protocol === "https:" || (protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname))
}
