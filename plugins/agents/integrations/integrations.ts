// Uses connections: finds them by slug or id, and opens their credentials for a single request only. A pipeline acts for its
// organization. It can use shared connections, its own lent connections, and connections lent by its managing organization.
import {
  AppError,
  type Clock,
  type Collection,
  isUuid,
  type OutgoingHttp,
  type OutgoingResponse,
  type Store,
  token,
  type UnitsOfWork,
  type Vault,
} from "#core"
import type { AnyIntegrationApp, IntegrationRequest } from "./app.ts"
import { serviceAccountKey } from "./apps/service-account.ts"
import type { Broker } from "./broker/broker.ts"
import type { CallGuard } from "./call-guards.ts"
import { type Connection, Connections, type ConnectionView, openCredentials, usedByPipelines, viewOf } from "./connections.ts"
import { requireRunning } from "./departure.ts"
import { CallLimits } from "./limits/call-limits.ts"
import type { AccessToken } from "./oauth/access.ts"
import { callWithToken } from "./oauth/call.ts"
import type { OAuth } from "./oauth/service.ts"
import type { OrganizationApps } from "./own-apps/organization-apps.ts"

export interface CallContext {
  /** Sent as `Idempotency-Key`. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  /** For a document app: another host of the vendor, from the operator's settings. Never from a caller. */
  readonly base?: string
  /** True for a job. After `oauth_refresh_busy` the job retries, instead of waiting for a slow authorization server. */
  readonly comesAgain?: boolean
  /** True for calls of the owning area. Guards are skipped. */
  readonly byKeeper?: boolean
}

export interface Integrations {
  /**
   * Returns the connection with this slug or id for pipelines of the organization. Returns undefined if no usable connection
   * exists.
   */
  find(organization: string, ref: string): Promise<ConnectionView | undefined>
  /** Returns the target of a call by slug or id: the connection, its revision, and its app's host. */
  targetOf(organization: string, ref: string): Promise<CallTarget>
  /**
   * Resolves with any HTTP status, see `outcomeOf`. Throws `failed_precondition` with `retryable: false` for a missing
   * connection, else as OutgoingHttp does.
   */
  call(organization: string, ref: string, request: IntegrationRequest, context?: CallContext): Promise<OutgoingResponse>
  /** As `call`, through a connection of the organization already read, including private connections. */
  callThrough(organization: string, connection: Connection, request: IntegrationRequest, context?: CallContext): Promise<OutgoingResponse>
}

/** Fields are null if the connection is missing. The host is null if it follows from an authorization. */
export interface CallTarget extends Record<string, string | number | null> {
  readonly connection: string
  readonly connection_id: string | null
  readonly revision: number | null
  readonly app: string | null
  /** Set for an organization's own app. */
  readonly app_revision: number | null
  readonly host: string | null
}

export const Integrations = token<Integrations>("Integrations")

interface IntegrationsDeps {
  readonly store: Store
  readonly vault: Vault
  readonly http: OutgoingHttp
  readonly apps: OrganizationApps
  readonly oauth: Pick<OAuth, "access" | "serviceTokens">
  readonly broker: Pick<Broker, "call">
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly guards: readonly CallGuard[]
  /** Returns the managing organization. */
  readonly managerOf: (organization: string) => Promise<string | undefined>
}

export function createIntegrations(deps: IntegrationsDeps): Integrations {
  const { store, vault, http, apps, oauth, broker, guards, managerOf } = deps
  const limits = new CallLimits(deps)

  async function usableFor(organization: string, ref: string): Promise<{ owner: string; connection: Connection } | undefined> {
    const own = await byRef(store.open(Connections, organization), ref, usedByPipelines)
    if (own) return { owner: organization, connection: own }
    const owner = await managerOf(organization)
    const lent = owner && (await byRef(store.open(Connections, owner), ref, { managed_access: "managed_organizations" }))
    return lent ? { owner, connection: lent } : undefined
  }

  return {
    async find(organization, ref) {
      const connection = await usableFor(organization, ref)
      return connection && viewOf(connection.connection)
    },
    async targetOf(organization, ref) {
      const usable = await usableFor(organization, ref)
      if (!usable) return { connection: ref, connection_id: null, revision: null, app: null, app_revision: null, host: null }
      const { owner, connection } = usable
      const app = await apps.find(owner, connection)
      const { slug, id, revision } = connection
      const app_revision = app?.own?.revision ?? null
      return {
        connection: slug,
        connection_id: id,
        revision,
        app: connection.app,
        app_revision,
        host: app ? hostOf(app, owner, connection) : null,
      }
    },
    async call(organization, ref, request, { byKeeper = false, ...context } = {}) {
      const connection = await usableFor(organization, ref)
      if (!connection) throw missing(ref)
      // Guards do not apply to another host.
      const isGuarded = !byKeeper && context.base === undefined
      let refusal: AppError | undefined
      if (isGuarded) for (const guard of guards) refusal ??= await guard({ organization, connection: connection.connection, request })
      if (refusal) throw refusal
      return through(connection.owner, organization, connection.connection, request, context)
    },
    callThrough: (organization, connection, request, context) => through(organization, organization, connection, request, context),
  }

  /** Returns null if the credentials do not fit, or the host follows from an authorization. */
  function hostOf(app: AnyIntegrationApp, owner: string, connection: Connection): string | null {
    const granted = connection.credentials === null
    const credentials = granted ? { success: true, data: {} } : app.credentials.safeParse(openCredentials(vault, owner, connection))
    if (!credentials.success) return null
    try {
      return new URL(app.request(credentials.data, { method: "GET", path: "/" }).url).host
    } catch {
      return null
    }
  }

  /** Calls through a connection. `organization` owns the connection, and `caller` uses it. */
  async function through(
    organization: string,
    caller: string,
    connection: Connection,
    request: IntegrationRequest,
    { base, comesAgain, ...context }: CallContext = {},
  ): Promise<OutgoingResponse> {
    requireRunning(connection)
    const app = await apps.find(organization, connection)
    if (!app) throw unusable(`The app ${connection.app} of the integration "${connection.slug}" is not there any more.`)
    const limited = { organization, connection, limits: app.document?.rate_limits ?? [] }
    const send = (credentials: unknown) => {
      const outgoing = { ...app.request(credentials, request, base), ...context, organization: caller }
      return limits.run(limited, () => http.fetch(outgoing))
    }
    if (app.oauth && !connection.broker && connection.credentials === null) {
      const granted = { organization, connection, app: { ...app, oauth: app.oauth } }
      const sendWith = ({ token, apiOrigin }: AccessToken) =>
        send({ access_token: token, ...(apiOrigin === null ? {} : { api_origin: apiOrigin }) })
      return await callWithToken(oauth.access, granted, sendWith, comesAgain)
    }
    if (connection.broker && connection.credentials === null) return await broker.call(organization, connection, send)
    const credentials = app.credentials.safeParse(openCredentials(vault, organization, connection))
    if (!credentials.success) throw unusable(`The integration "${connection.slug}" has no usable credentials; connect it again.`)
    const key = app.serviceAccount && serviceAccountKey(credentials.data)
    if (!app.serviceAccount || !key) return await send(credentials.data)
    const { private_key: _, ...fields } = credentials.data as Record<string, unknown>
    const grantRequest = { organization, connection, account: app.serviceAccount, key }
    const access_token = await oauth.serviceTokens.token(grantRequest)
    const answer = await send({ ...fields, access_token })
    if (answer.status !== 401) return answer
    const newer = await oauth.serviceTokens.token(grantRequest, access_token)
    return await send({ ...fields, access_token: newer })
  }
}

export function byRef(connections: Collection<Connection>, ref: string, filter: object): Promise<Connection | undefined> {
  return connections.first({ ...(isUuid(ref) ? { id: ref } : { slug: ref }), ...filter })
}

function unusable(message: string): AppError {
  return new AppError("failed_precondition", message, { reason: "integration_unusable", retryable: false })
}

function missing(ref: string): AppError {
  const message = `No integration ${JSON.stringify(ref.slice(0, 100))} is connected for the organization. Connect one with share_with_org or managed_access; pipelines do not use other private connections.`
  return new AppError("not_found", message, { reason: "integration_not_found", retryable: false })
}
