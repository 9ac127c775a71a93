// The caller of an operation. The surface resolves the bearer credential once, first of all, and passes the caller to each
// handler.
import { token } from "../kernel/di.ts"
import type { Logger } from "../kernel/log.ts"

/** The rights of a member, or of a key made by one. Each role includes the roles before it. */
export const roles = ["guest", "member", "admin", "owner"] as const
/** The rights of a member or key: `owner`, `admin`, `member` or `guest`. */
export type Role = (typeof roles)[number]

/** Returns true if a role includes the rights of another. */
export function roleAtLeast(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

/** The surface of a call. */
export type Surface = "rest" | "mcp" | "live" | "internal"

/** One period in which an organization manages another. A later period of the same two has another `since`. */
export interface ManagementLink {
  readonly manager_id: string
  /** RFC 3339. */
  readonly since: string
}

/** The sign-in of a person at the start of a session. */
export interface SignIn {
  readonly method: "email_code" | "passkey" | "oidc" | "bootstrap"
  /** RFC 3339. A later sign-in within the session updates the time. */
  readonly at: string
  /** True within five minutes of `at`. */
  readonly isFresh: boolean
}

interface CallerFields {
  /** Scopes of a scoped token. Undefined for an API key: the key has every scope of its role. */
  readonly scopes: ReadonlySet<string> | undefined
  readonly credential: {
    readonly id: string
    readonly kind: "api_key" | "token" | "agent" | "session" | "internal"
    /** Kind of the key that opened the session; absent for an interactive session and for a key. */
    readonly opened_with?: "api_key" | "token" | "agent"
    readonly manager: boolean
    /** RFC 3339. Absent or null: the credential does not expire. */
    readonly expires_at?: string | null
  }
  readonly surface: Surface
  /** True if the call is marked as test traffic (`X-Service-Test`). */
  readonly isTest?: boolean
  readonly requestId: string
  readonly log: Logger
}

/** The caller of an operation, with organization and rights. */
export interface Caller extends CallerFields {
  /** The organization of the call. Every read and write stays inside it. */
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string }
  readonly role: Role
  /** The organization of the credential, if it manages the other one. */
  readonly manager?: { readonly id: string; readonly slug: string; readonly name: string }
  /** The management link of a manager, and of every key, session and link that descends from one. */
  readonly link?: ManagementLink
  /** The user who made the credential; undefined for service principals. */
  readonly user: { readonly id: string; readonly email: string; readonly staff: boolean } | undefined
  /** Of a session that a person began. Undefined for keys and for sessions opened with a key. */
  readonly signIn?: SignIn
  /** Of the operator (the holder of the master key): the only operation of the credential. */
  readonly operator?: string
}

/** A signed-in person whose session acts in no organization. Only operations with `withoutOrganization` accept the person. */
export interface PersonAlone extends CallerFields {
  readonly organization?: undefined
  readonly role?: undefined
  readonly manager?: undefined
  readonly link?: undefined
  readonly operator?: undefined
  readonly user: NonNullable<Caller["user"]>
  readonly signIn: SignIn
}

/** A caller of an operation with `withoutOrganization`. */
export type AnyCaller = Caller | PersonAlone

/** Cookie with the session of a signed-in browser. It replaces the bearer credential. */
export const sessionCookie = "mr_session"

/** Returns the name of the session cookie. With TLS, browsers refuse a `__Host-` cookie from any other host or path. */
export function sessionCookieOf(publicUrl: string): string {
  return publicUrl.startsWith("https:") ? `__Host-${sessionCookie}` : sessionCookie
}

/** The credentials of a request, before authentication. */
export interface Credentials {
  /** The text after `Bearer `, or the value of the session cookie. Undefined if the request has neither. */
  readonly bearer: string | undefined
  /** `X-Organization-ID`: a UUID or slug. Undefined or empty selects the credential's own organization. */
  readonly organization: string | undefined
  readonly surface: Surface
  /** The client's address, as far as proxies are trusted. */
  readonly address?: string | undefined
  readonly requestId: string
  readonly log: Logger
}

/** Turns credentials into a caller. Throws `unauthenticated`, or `not_found` for an organization out of reach. */
export interface Authenticator {
  authenticate(credentials: Credentials): Promise<AnyCaller>
}

export const Authenticator = token<Authenticator>("Authenticator")

/** Invalidation topic of keys and tokens: made, changed or revoked. The key is the id, or the public id in the token's text. */
export const credentialsTopic = "credentials"
