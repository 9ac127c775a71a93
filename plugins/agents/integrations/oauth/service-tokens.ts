// Access tokens of service accounts (RFC 7523). The account's key signs an assertion, and the token URL of the app's document
// answers with a token. Tokens stay in memory until shortly before they expire.
import { importPKCS8, SignJWT } from "jose"
import { AppError, type Clock } from "#core"
import type { ServiceAccount, ServiceAccountKey } from "../apps/service-account.ts"
import type { Connection } from "../connections.ts"
import { GrantRefused, type OAuthProtocol } from "./protocol.ts"

interface Held {
  readonly token: Promise<string>
  /** Milliseconds. Infinite while the request is in flight. */
  usableUntil: number
}

interface Asked {
  /** Owner of the connection. */
  readonly organization: string
  readonly connection: Connection
  readonly account: ServiceAccount
  readonly key: ServiceAccountKey
}

const lifetimeS = 3_600
const marginMs = 60_000
const maxHeld = 10_000

export class ServiceTokens {
  readonly #protocol: Pick<OAuthProtocol, "of">
  readonly #clock: Clock
  readonly #held = new Map<string, Held>()

  constructor({ protocol, clock }: { readonly protocol: Pick<OAuthProtocol, "of">; readonly clock: Clock }) {
    this.#protocol = protocol
    this.#clock = clock
  }

  /** Returns a token of the connection. `refused`: a token refused by the API. */
  async token(grant: Asked, refused?: string): Promise<string> {
    const id = `${grant.organization}:${grant.connection.id}:${grant.connection.revision}`
    const token = this.#held.get(id)
    if (token && token.usableUntil > this.#clock.now() && (refused === undefined || (await token.token) !== refused)) return token.token
    const fresh: Held = { token: this.#request(grant, (until) => (fresh.usableUntil = until)), usableUntil: Number.POSITIVE_INFINITY }
    this.#hold(id, fresh)
    fresh.token.catch(() => this.#held.get(id) === fresh && this.#held.delete(id))
    return fresh.token
  }

  async #request({ organization, connection, account, key }: Asked, until: (ms: number) => void): Promise<string> {
    const { provider, scopes } = account
    const now = Math.floor(this.#clock.now() / 1_000)
    const claims = { scope: [...new Set([...scopes, ...connection.scopes])].join(" ") }
    const header = { alg: "RS256", typ: "JWT", ...(key.private_key_id === undefined ? {} : { kid: key.private_key_id }) }
    const jwt = new SignJWT(claims).setProtectedHeader(header).setIssuer(key.client_email).setAudience(provider.token_endpoint)
    if (key.subject !== undefined) jwt.setSubject(key.subject)
    const assertion = await jwt
      .setIssuedAt(now)
      .setExpirationTime(now + lifetimeS)
      .sign(await importPKCS8(key.private_key, "RS256"))
    try {
      const { access_token, expires_in = lifetimeS } = await this.#protocol.of(organization).assert(provider, key.client_email, assertion)
      until(this.#clock.now() + expires_in * 1_000 - marginMs)
      return access_token
    } catch (error) {
      if (!(error instanceof GrantRefused)) throw error
      const message = `The authorization server ${new URL(provider.token_endpoint).origin} refused the service account of "${connection.slug}". Check its key and scopes, and connect it again with rotate_credentials.`
      throw new AppError("failed_precondition", message, { reason: "integration_unusable", retryable: false })
    }
  }

  #hold(id: string, token: Held): void {
    this.#held.delete(id)
    this.#held.set(id, token)
    const [oldest] = this.#held.keys()
    if (this.#held.size > maxHeld && oldest !== undefined) this.#held.delete(oldest)
  }
}
