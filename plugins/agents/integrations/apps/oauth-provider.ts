// An authorization server, declared by an app document, and the service's client there.
export interface OAuthProvider {
  /** Set if responses must contain it (RFC 9207). */
  readonly issuer: string | undefined
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  /** Receives unused tokens for revocation (RFC 7009). */
  readonly revocation_endpoint: string | undefined
  readonly client_auth: "basic" | "body"
  /** Default scopes. */
  readonly scopes: readonly string[]
  readonly scope_separator: string
  /** Added to the authorization request. */
  readonly parameters: Readonly<Record<string, string>>
  /** Sent with requests to the token and revocation endpoints. */
  readonly headers: Readonly<Record<string, string>>
  readonly token_body: "form" | "json"
  /** `account`: revoking a token ends all grants of the account to the client. */
  readonly revocation_ends: "grant" | "account"
  /** `token`: the access token revokes itself. */
  readonly revocation_auth: "client" | "token"
  /** In addition to "bearer". */
  readonly bearer_types: readonly string[]
  /** In addition to `invalid_grant`. */
  readonly invalid_grant_codes: readonly string[]
  /** For an API with a different origin per account. */
  readonly api_origin: ApiOrigin | undefined
}

/** Source of the origin of an account's API. */
export interface ApiOrigin {
  /** Requested with the new token. Absent: the token response contains the origin. */
  readonly url: string | undefined
  /** Field with an absolute URL. */
  readonly field: string
  /** Permitted hosts, including their subdomains. */
  readonly hosts: readonly string[]
  /** Returns the headers or query with the token for `url`. */
  sent(token: string): { readonly headers: Readonly<Record<string, string>>; readonly query?: Readonly<Record<string, string>> }
}

export interface OAuthClient {
  readonly client_id: string
  /** Absent for a public client. It uses PKCE alone. */
  readonly client_secret?: string | undefined
}

/** Accepts https, and http on this machine. The outgoing client refuses http unless an operator allows it. */
export function isSecureUrl(text: string): boolean {
  if (!URL.canParse(text) || /[\s\\#]/.test(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username || password) return false
  return protocol === "https:" || (protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname))
}
