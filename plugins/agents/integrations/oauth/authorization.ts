// The authorization code flow with PKCE. `integrations.connect` returns a ticket in connect_url. Each browser at the ticket's URL
// gets a state, and the callback exchanges a code for tokens. A state works once, within ten minutes, in the same browser.
import { randomBytes } from "node:crypto"
import {
  AppError,
  type Clock,
  type Ids,
  type Logger,
  type PublicUrl,
  type Store,
  sameSecret,
  timestamp,
  type UnitOfWork,
  type UnitsOfWork,
  type Vault,
} from "#core"
import type { Pauses } from "#core/engine"
import type { AnyIntegrationApp } from "../app.ts"
import type { OAuthClient, OAuthProvider } from "../apps/oauth-provider.ts"
import { type Connection, Connections } from "../connections.ts"
import { unknownHealth } from "../health/health.ts"
import type { HealthSchedule } from "../health/schedule.ts"
import type { OrganizationApps } from "../own-apps/organization-apps.ts"
import { authorizationErrorOf, since } from "./authorization-error.ts"
import type { OAuthClients } from "./clients.ts"
import { type Authorization, type AuthorizationState, AuthorizationStates, hashed, Tickets, verifierContext } from "./collections.ts"
import type { GrantStore } from "./grant-store.ts"
import type { Asked } from "./pages.ts"
import type { OAuthProtocol, TokenAnswer } from "./protocol.ts"
import type { Revocation } from "./revocation.ts"

export interface AuthorizationDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly vault: Vault
  readonly clock: Clock
  readonly ids: Ids
  readonly publicUrl: PublicUrl
  readonly apps: OrganizationApps
  readonly schedule: HealthSchedule
  readonly clients: OAuthClients
  readonly protocol: OAuthProtocol
  readonly grants: GrantStore
  readonly revocation: Revocation
  readonly log: Logger
  readonly pauses: Pauses
  readonly organizationName: (id: string) => Promise<string>
}

export const oauthPath = "/v1/integrations/oauth"
export const lifeMs = 600_000
/** Link previews open tickets too, and each state is a document. */
const maxOpenings = 20

/** Redirect of a browser: the target, the details of the grant, and the binding cookie. */
export interface Departure extends Asked {
  readonly cookie: { readonly name: string; readonly value: string }
}

/** A callback with a valid state. `authorization` contains the user's next address. */
export interface Return {
  readonly authorization: Authorization
  readonly outcome: "connected" | "denied"
}

/** The link or the state is unusable: unknown, used, expired, or of another browser. */
export class UnknownAuthorization extends Error {}

/** A failure after the state was accepted, with the user's next address. */
export class AuthorizationFailed extends Error {
  readonly authorization: Authorization

  constructor(authorization: Authorization, cause: unknown) {
    super("the authorization failed", { cause })
    this.authorization = authorization
  }
}

export class Authorizations {
  readonly #deps: AuthorizationDeps

  constructor(deps: AuthorizationDeps) {
    this.#deps = deps
  }

  /** Stages an authorization of a connection. Returns its connect_url. Throws `failed_precondition` if no client is registered. */
  async begin(
    work: UnitOfWork,
    place: Pick<Authorization, "organization" | "integration_id" | "app" | "own_app" | "return_url"> & {
      readonly scopes: readonly string[]
    },
  ): Promise<string> {
    const { publicUrl } = this.#deps
    await this.#party(place)
    const ticket = secret()
    work.in(Tickets).insert({ ...place, id: hashed(ticket), scopes: [...place.scopes], opened: 0, expires_at: this.#end() })
    return `${publicUrl()}${oauthPath}/authorize?ticket=${ticket}`
  }

  /** Handles a browser at connect_url. Throws UnknownAuthorization, or AppError. */
  async open(ticketText: string): Promise<Departure> {
    const { store, works, vault, protocol, organizationName } = this.#deps
    const ticket = await store.open(Tickets).get(hashed(ticketText))
    if (!ticket || this.#isOver(ticket) || ticket.opened >= maxOpenings) throw new UnknownAuthorization()
    const { app, provider, client } = await this.#party(ticket)
    const connection = await store.open(Connections, ticket.organization).get(ticket.integration_id)
    if (!connection) throw new UnknownAuthorization()
    const [state, browser, verifier] = [secret(), secret(), secret()]
    const id = hashed(state)
    const redirectUri = this.#redirectUri(ticket)
    const scopes = ticket.scopes.length > 0 ? ticket.scopes : provider.scopes
    const location = await protocol.authorizationUrl(provider, client, { redirectUri, state, verifier, scopes })
    const { opened, organization_id: _, ...shared } = ticket
    await works.run((work) => {
      work.in(Tickets).update(ticket.id, { $inc: { opened: 1 } }, { where: { opened: { $lt: maxOpenings } } })
      const sealed = vault.seal(verifier, verifierContext(id))
      work.in(AuthorizationStates).insert({
        ...shared, id, ticket_id: ticket.id, browser: hashed(browser), verifier: sealed, expires_at: this.#end(),
      }) // biome-ignore format: one document
    })
    return {
      app: app.document?.name ?? app.name,
      connection: connection.name,
      organization: await organizationName(ticket.organization),
      scopes,
      location,
      cookie: { name: cookieName(id), value: browser },
    }
  }

  /** Handles the browser's return from the authorization server. Throws UnknownAuthorization or AuthorizationFailed. */
  async finish(at: CallbackPlace, parameters: URLSearchParams, cookieOf: (name: string) => string | undefined): Promise<Return> {
    const { store } = this.#deps
    const state = parameters.get("state") ?? ""
    const authorization = await store.open(AuthorizationStates).get(hashed(state))
    const cookie = authorization && cookieOf(cookieName(authorization.id))
    if (
      !authorization ||
      this.#isOver(authorization) ||
      !isPlaceOf(authorization, at) ||
      cookie === undefined ||
      !sameSecret(hashed(cookie), authorization.browser)
    ) {
      throw new UnknownAuthorization()
    }
    await this.#use(authorization)
    try {
      return { authorization: authorization, outcome: await this.#exchanged(authorization, state, parameters) }
    } catch (error) {
      await this.#note(authorization, error)
      throw new AuthorizationFailed(authorization, error)
    }
  }

  /** Stores the error in the connection, for other users. */
  async #note({ organization, integration_id }: AuthorizationState, cause: unknown): Promise<void> {
    const { store, works, clock, log } = this.#deps
    try {
      const connection = await store.open(Connections, organization).get(integration_id)
      if (!connection) return
      const authorization_error = since(connection.authorization_error, authorizationErrorOf(cause), timestamp(clock.now()))
      await works.run((work) => work.in(Connections, organization).update(integration_id, { $set: { authorization_error } }))
    } catch (err) {
      log.warn({ err, integration_id }, "a failed authorization could not be noted on its connection")
    }
  }

  /** Consumes the state before any request. Of two callbacks with the same state, one continues. */
  async #use({ id, browser }: AuthorizationState): Promise<void> {
    try {
      await this.#deps.works.run((work) => work.in(AuthorizationStates).remove(id, { where: { browser } }))
    } catch (error) {
      if (error instanceof AppError && (error.code === "aborted" || error.code === "not_found")) throw new UnknownAuthorization()
      throw error
    }
  }

  async #exchanged(authorization: AuthorizationState, state: string, parameters: URLSearchParams): Promise<Return["outcome"]> {
    const { vault } = this.#deps
    const protocol = this.#deps.protocol.of(authorization.organization)
    const { app, provider, client } = await this.#party(authorization)
    const verifier = vault.open(authorization.verifier, verifierContext(authorization.id))
    const redirectUri = this.#redirectUri(authorization)
    const tokens = await protocol.exchange(provider, client, { parameters, state, redirectUri, verifier })
    try {
      const api_origin = await protocol.apiOrigin(provider, tokens)
      await this.#connect(authorization, { ...tokens, api_origin }, app, client)
    } catch (error) {
      await this.#giveBack(authorization, tokens, client)
      throw error
    }
    return "connected"
  }

  /** Revokes unused tokens. Skips this if the connection has other tokens, since servers may end all grants of a user together. */
  async #giveBack(authorization: AuthorizationState, tokens: TokenAnswer, { client_id }: OAuthClient): Promise<void> {
    const { works, grants, revocation, log } = this.#deps
    const { organization, integration_id, app } = authorization
    try {
      if (await grants.get(organization, integration_id)) return
      await works.run((work) => revocation.stageTokens(work, organization, authorization, tokens, client_id))
    } catch (err) {
      log.error({ err, integration_id, app }, "tokens of an authorization that failed could not be revoked")
    }
  }

  async #connect(authorization: AuthorizationState, tokens: TokenAnswer, app: AnyIntegrationApp, client: OAuthClient): Promise<void> {
    const { store, works, clock, grants, schedule, revocation } = this.#deps
    const { organization, integration_id } = authorization
    const scopes = authorization.scopes.length > 0 ? authorization.scopes : (app.oauth?.scopes ?? [])
    const change = {
      status: "connected" as const,
      credentials: null,
      broker: null,
      // A grant cannot be lent, even if the credentials before it were lent.
      managed_access: "none" as const,
      scopes: tokens.scope === undefined ? [...scopes] : tokens.scope.split(/[ ,]+/).filter(Boolean),
      credential_fields: tokens.refresh_token === undefined ? ["access_token"] : ["access_token", "refresh_token"],
      health: { ...unknownHealth },
      authorization_error: null,
      updated_at: timestamp(clock.now()),
    } satisfies Partial<Connection>
    await works.retryConflicts(async (work) => {
      const connection = await store.open(Connections, organization).get(integration_id)
      if (!connection) throw gone()
      const before = await grants.replace(work, organization, integration_id, tokens, client.client_id)
      if (before) revocation.stageReplaced(work, organization, authorization, before, tokens)
      if (app.oauth) grants.hold(work, integration_id, app.oauth, client.client_id)
      work.in(Connections, organization).update(integration_id, { $set: change, $inc: { revision: 1 } })
      work.in(Tickets).remove(authorization.ticket_id, { optional: true })
      schedule.set(work, organization, { ...connection, ...change }, app)
    })
  }

  async #party(
    place: Pick<Authorization, "organization" | "app" | "own_app">,
  ): Promise<{ app: AnyIntegrationApp; provider: OAuthProvider; client: OAuthClient }> {
    const { apps, clients, pauses } = this.#deps
    pauses.refuse(place.organization)
    const app = await apps.find(place.organization, place)
    if (!app?.oauth) throw new UnknownAuthorization()
    return { app, provider: app.oauth, client: await clients.of(place.organization, app) }
  }

  #redirectUri(place: AppPlace): string {
    return redirectUri(this.#deps.publicUrl, place)
  }

  #end(): string {
    return timestamp(this.#deps.clock.now() + lifeMs)
  }

  #isOver({ expires_at }: Authorization): boolean {
    return Date.parse(expires_at) <= this.#deps.clock.now()
  }
}

type AppPlace = Pick<Authorization, "organization" | "app" | "own_app">

/**
 * Returns an app's own redirect URI. The URI of an organization's own app contains the organization. An authorization server's
 * answer therefore counts for its own app only.
 */
export function redirectUri(publicUrl: PublicUrl, { organization, app, own_app }: AppPlace): string {
  const place = [...(own_app ? [organization] : []), encodeURIComponent(app)]
  return `${publicUrl()}${oauthPath}/callback/${place.join("/")}`
}

/** The path of a callback. `organization` is set for an own app. */
export interface CallbackPlace {
  readonly organization: string | undefined
  readonly app: string
}

function isPlaceOf(place: AppPlace, { organization, app }: CallbackPlace): boolean {
  return place.app === app && organization === (place.own_app ? place.organization : undefined)
}

/** Returns 256 random bits. */
function secret(): string {
  return randomBytes(32).toString("base64url")
}

/** Returns a cookie name per state, so authorizations in two tabs do not conflict. */
function cookieName(stateId: string): string {
  return `millrace_oauth_${stateId.slice(0, 16)}`
}

function gone(): AppError {
  return new AppError("not_found", "The integration was disconnected meanwhile.", { reason: "integration_not_found" })
}
