// Who is calling: resolved once from the bearer credential, before anything else happens, and handed to every handler.
import { token } from "../kernel/di.ts"
import type { Logger } from "../kernel/log.ts"

/** What a member, or a key made by one, may do; each includes the ones before it. */
export const roles = ["guest", "member", "admin", "owner"] as const
/** What a member or key may do: `owner`, `admin`, `member` or `guest`. */
export type Role = (typeof roles)[number]

/** Whether a role includes the rights of another. */
export function roleAtLeast(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

/** The surface a call came through. */
export type Surface = "rest" | "mcp" | "live" | "internal"

/** One period in which an organization manages another. A later period of the same two has another `since`. */
export interface ManagementLink {
  readonly manager_id: string
  /** RFC 3339. */
  readonly since: string
}

/** How a person began a session. */
export interface SignIn {
  readonly method: "email_code" | "passkey" | "oidc" | "bootstrap"
  /** RFC 3339; a later sign-in within the session moves it. */
  readonly at: string
  /** True within five minutes of `at`. */
  readonly isFresh: boolean
}

interface CallerFields {
  /** Scopes of a scoped token; undefined for an API key, which has every scope that its role allows. */
  readonly scopes: ReadonlySet<string> | undefined
  readonly credential: {
    readonly id: string
    readonly kind: "api_key" | "token" | "agent" | "session" | "internal"
    /** Kind of the key that opened the session; absent for an interactive session and for a key. */
    readonly opened_with?: "api_key" | "token" | "agent"
    readonly manager: boolean
    /** RFC 3339; absent or null: it does not expire. */
    readonly expires_at?: string | null
  }
  readonly surface: Surface
  /** The call is marked as test traffic (`X-Service-Test`). */
  readonly isTest?: boolean
  readonly requestId: string
  readonly log: Logger
}

/** The caller of an operation, with organization and rights. */
export interface Caller extends CallerFields {
  /** The organization the call acts in; every read and write stays inside it. */
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string }
  readonly role: Role
  /** The organization of the credential, if it manages the other one. */
  readonly manager?: { readonly id: string; readonly slug: string; readonly name: string }
  /** The management link of a manager, and of every key, session and link that descends from one. */
  readonly link?: ManagementLink
  /** The user who made the credential; undefined for service principals. */
  readonly user: { readonly id: string; readonly email: string; readonly staff: boolean } | undefined
  /** Of a session that a person began; undefined for keys, and for a session opened with a key. */
  readonly signIn?: SignIn
  /** Of the operator, who holds the master key: the one operation of the credential. */
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

/** Name of the cookie in which a browser that has signed in sends its session, in place of a bearer credential. */
export const sessionCookie = "mr_session"

/** Returns the name of the session's cookie. With TLS browsers refuse a `__Host-` cookie from any other host or path. */
export function sessionCookieOf(publicUrl: string): string {
  return publicUrl.startsWith("https:") ? `__Host-${sessionCookie}` : sessionCookie
}

/** What a surface knows of a request before the caller is known. */
export interface Credentials {
  /** The text after `Bearer `, or of the session's cookie; undefined where neither came. */
  readonly bearer: string | undefined
  /** `X-Organization-ID`: a UUID or slug; undefined or empty selects the credential's own organization. */
  readonly organization: string | undefined
  readonly surface: Surface
  /** Where the request comes from, as far as proxies are trusted. */
  readonly address?: string | undefined
  readonly requestId: string
  readonly log: Logger
}

/** Turns credentials into a caller. Throws `unauthenticated`, or `not_found` for an organization out of reach. */
export interface Authenticator {
  authenticate(credentials: Credentials): Promise<AnyCaller>
}

export const Authenticator = token<Authenticator>("Authenticator")

/** Invalidation topic announced when a key or token is made, changed or revoked, with its id or the public id in its text as key. */
export const credentialsTopic = "credentials"
