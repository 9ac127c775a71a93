// Connects an app: a new connection, or new credentials for an existing connection. All writes are part of the call's commit.
// Credentials are stored sealed only.
import type { z } from "zod"
import {
  AppError,
  type Caller,
  type Clock,
  type Ids,
  type OutgoingHttp,
  type Store,
  slugOf,
  timestamp,
  type UnitOfWork,
  uniqueSlug,
  type Vault,
} from "#core"
import { fieldProblems } from "#core/engine"
import type { AnyIntegrationApp } from "./app.ts"
import type { Broker, BrokerPlace } from "./broker/broker.ts"
import { requireRightTo } from "./connect-rights.ts"
import { type Connection, Connections, connectorOf, type ManagedAccess, sealCredentials, visibleTo } from "./connections.ts"
import { unknownHealth } from "./health/health.ts"
import type { HealthSchedule } from "./health/schedule.ts"
import type { OAuth } from "./oauth/service.ts"
import { stageUse } from "./own-apps/collections.ts"
import type { OrganizationApps } from "./own-apps/organization-apps.ts"

export interface ConnectInput {
  readonly app: string
  readonly credentials?: Readonly<Record<string, unknown>> | undefined
  readonly managed_access?: ManagedAccess | "" | undefined
  readonly name?: string | undefined
  readonly return_url: string
  readonly rotate_credentials: boolean
  readonly scopes?: readonly string[] | undefined
  readonly share_with_org?: boolean | undefined
}

export interface ConnectDeps {
  readonly store: Store
  readonly vault: Vault
  readonly apps: OrganizationApps
  readonly http: OutgoingHttp
  readonly clock: Clock
  readonly ids: Ids
  readonly schedule: HealthSchedule
  readonly oauth: OAuth
  readonly broker: Broker
}

export interface Connected {
  readonly connection: Connection
  readonly connectUrl: string
  readonly rotated: boolean
}

export async function connect(deps: ConnectDeps, caller: Caller, work: UnitOfWork, input: ConnectInput): Promise<Connected> {
  const app = await deps.apps.named(caller.organization.id, input.app)
  const byOAuth = await deps.oauth.canGrant(caller.organization.id, app)
  const place = byOAuth ? undefined : deps.broker.placeFor(app)
  const canGrant = app.connectUrl !== undefined || byOAuth || place !== undefined
  const isNative =
    app.kind === "native" &&
    (input.credentials !== undefined || (input.rotate_credentials && !app.oauth && !place) || (!canGrant && !isGrantedFirst(app)))
  if (!isNative) refuseLending(app, place, input)
  if (isNative) {
    const credentials = await checkedCredentials(deps, app, input.credentials)
    return input.rotate_credentials
      ? rotate(deps, caller, work, input, app, credentials)
      : add(deps, caller, work, input, app, { credentials })
  }
  if (input.credentials !== undefined) throw invalid("credentials", `${app.name} needs none; access is granted at connect_url`)
  if (input.rotate_credentials && (byOAuth || place)) return authoriseAgain(deps, caller, work, input, app, place)
  if (input.rotate_credentials) throw invalid("rotate_credentials", `${app.name} has no credentials to rotate; connect it again`)
  if (!canGrant) {
    throw new AppError("failed_precondition", `${app.name} is connected by an authorization, which this service is not set up for.`, {
      reason: "authorization_unavailable",
    })
  }
  return add(deps, caller, work, input, app, place ? { place } : {})
}

/** Returns true for an app with an authorization for users and a service account for programs. */
function isGrantedFirst({ oauth, document }: AnyIntegrationApp): boolean {
  return oauth !== undefined && document?.auth.api_key === undefined && document?.auth.basic === undefined
}

function refuseLending(app: AnyIntegrationApp, place: BrokerPlace | undefined, { managed_access = "" }: ConnectInput): void {
  if (managed_access === "") return
  const by = app.kind === "broker" || place ? "a connection broker" : "an OAuth grant"
  throw invalid("managed_access", `${app.name} is connected by ${by}, which cannot be lent`)
}

async function checkedCredentials(
  deps: ConnectDeps,
  app: AnyIntegrationApp,
  input: ConnectInput["credentials"],
): Promise<Record<string, unknown>> {
  if (input === undefined) throw invalid("credentials", `${app.name} needs them`)
  const schema: z.ZodType<Record<string, unknown>> = app.credentials
  const parsed = schema.safeParse(input)
  if (!parsed.success) {
    const fields = fieldProblems({ schema, value: input, issues: parsed.error.issues }, ["credentials"])
    const problems = fields.map(({ path, message }) => `${path}: ${message}`).join(" ")
    throw new AppError("invalid_argument", `The credentials for ${app.name} are not usable: ${problems}`, {
      reason: "invalid_credentials",
      fields,
    })
  }
  const credentials = parsed.data
  try {
    await app.check?.(credentials, { http: deps.http })
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "unavailable") throw error
    const fields = (error.details.fields ?? []).map(({ path, message }) => ({ path: `credentials.${path}`, message }))
    throw AppError.from({
      code: "invalid_argument",
      message: error.message,
      details: { reason: "invalid_credentials", ...error.details, fields },
    })
  }
  return credentials
}

async function add(
  deps: ConnectDeps,
  caller: Caller,
  work: UnitOfWork,
  input: ConnectInput,
  app: AnyIntegrationApp,
  { credentials, place }: { readonly credentials?: Record<string, unknown>; readonly place?: BrokerPlace },
): Promise<Connected> {
  const organization = caller.organization.id
  const connections = deps.store.open(Connections, organization)
  const id = deps.ids.uuid()
  const now = timestamp(deps.clock.now())
  const name = input.name || app.name
  const connection: Connection = {
    id,
    app: app.name,
    own_app: app.own !== undefined,
    name,
    slug: await uniqueSlug(slugOf(name, app.name), async (slug) => (await connections.first({ slug })) !== undefined),
    status: credentials ? "connected" : "pending_authorization",
    connected_by: connectorOf(caller),
    shared: input.share_with_org ?? false,
    paused: false,
    managed_access: input.managed_access || "none",
    scopes: [...(input.scopes ?? [])],
    credentials: credentials ? sealCredentials(deps.vault, organization, id, credentials) : null,
    broker: place ?? null,
    credential_fields: Object.keys(credentials ?? {}),
    health: unknownHealth,
    authorization_error: null,
    revision: 1,
    created_at: now,
    updated_at: now,
  }
  work.in(Connections, organization).insert(connection)
  if (app.own) stageUse(work, organization, app.own)
  deps.schedule.set(work, organization, connection, app)
  return { connection, connectUrl: await connectUrlOf(deps, work, organization, app, connection, input), rotated: false }
}

async function connectUrlOf(
  { oauth, broker }: ConnectDeps,
  work: UnitOfWork,
  organization: string,
  app: AnyIntegrationApp,
  { id, own_app, scopes, credentials, broker: place }: Connection,
  { return_url }: ConnectInput,
): Promise<string> {
  if (credentials !== null) return ""
  if (place) return broker.begin(work, organization, { id, app: app.name }, return_url)
  if (app.oauth)
    return await oauth.authorizations.begin(work, { organization, integration_id: id, app: app.name, own_app, return_url, scopes })
  return (await app.connectUrl?.({ integrationId: id, organization, returnUrl: return_url, scopes })) ?? ""
}

async function rotate(
  deps: ConnectDeps,
  caller: Caller,
  work: UnitOfWork,
  input: ConnectInput,
  app: AnyIntegrationApp,
  credentials: Record<string, unknown>,
): Promise<Connected> {
  const organization = caller.organization.id
  const old = await theOneMeant(deps, caller, input, app)
  requireRightTo(caller, "rotate the credentials of", { connection: old })
  const sealed = sealCredentials(deps.vault, organization, old.id, credentials)
  // The earlier grant is no longer used.
  await deps.oauth.revocation.stage(work, organization, old)
  deps.broker.stageEnd(work, organization, old)
  const change = {
    credentials: { ...sealed },
    broker: null,
    credential_fields: Object.keys(credentials),
    status: "connected" as const,
    health: { ...unknownHealth },
    authorization_error: null,
    updated_at: timestamp(deps.clock.now()),
    ...(input.share_with_org === undefined ? {} : { shared: input.share_with_org }),
    ...(input.managed_access ? { managed_access: input.managed_access } : {}),
    ...(input.scopes === undefined ? {} : { scopes: [...input.scopes] }),
  }
  work.in(Connections, organization).update(old.id, { $set: change, $inc: { revision: 1 } }, { where: { revision: old.revision } })
  const connection = { ...old, ...change, revision: old.revision + 1 }
  deps.schedule.set(work, organization, connection, app)
  return { connection, connectUrl: "", rotated: true }
}

/** Starts another authorization. The connection keeps its id, slug and tokens until access is granted again. */
async function authoriseAgain(
  deps: ConnectDeps,
  caller: Caller,
  work: UnitOfWork,
  input: ConnectInput,
  app: AnyIntegrationApp,
  place: BrokerPlace | undefined,
): Promise<Connected> {
  const organization = caller.organization.id
  const connection = await theOneMeant(deps, caller, input, app)
  requireRightTo(caller, "authorize", { connection })
  const { return_url, scopes = connection.scopes } = input
  if (place) {
    const broker = { ...place, connection_id: connection.broker?.connection_id ?? null }
    const change = { $set: { broker }, $inc: { revision: 1 } }
    work.in(Connections, organization).update(connection.id, change, { where: { revision: connection.revision } })
    return { connection, connectUrl: deps.broker.begin(work, organization, connection, return_url), rotated: false }
  }
  const { id: integration_id, own_app } = connection
  const authorization = { organization, integration_id, app: app.name, own_app, return_url, scopes }
  return { connection, connectUrl: await deps.oauth.authorizations.begin(work, authorization), rotated: false }
}

async function theOneMeant(deps: ConnectDeps, caller: Caller, input: ConnectInput, app: AnyIntegrationApp): Promise<Connection> {
  const visible = await deps.store
    .open(Connections, caller.organization.id)
    .find({ app: app.name, ...(app.own ? { own_app: true } : { own_app: { $ne: true } }), ...visibleTo(caller) }, { limit: 200 })
  const meant = input.name ? visible.filter(({ name, slug }) => name === input.name || slug === input.name) : visible
  const [old, another] = meant
  if (!old) {
    const which = input.name ? `no ${app.name} connection is named "${input.name}"` : `no ${app.name} connection exists`
    throw new AppError("not_found", `Nothing to rotate: ${which}. Leave rotate_credentials out to add one.`, {
      reason: "nothing_to_rotate",
    })
  }
  if (another) {
    const names = meant.map(({ slug }) => slug)
    const message = `Several ${app.name} connections match (${names.join(", ")}); give the name of one.`
    throw new AppError("failed_precondition", message, { reason: "ambiguous_connection", candidates: names })
  }
  return old
}

const refusals = {
  credentials: "credentials_refused",
  managed_access: "managed_access_refused",
  rotate_credentials: "rotate_credentials_refused",
} as const

function invalid(field: keyof typeof refusals, problem: string): AppError {
  return new AppError("invalid_argument", `${field} is refused: ${problem}.`, {
    reason: refusals[field],
    fields: [{ path: field, message: problem }],
  })
}
