// Creates the parts of OAuth.
import {
  type Clock,
  type Ids,
  type JobQueue,
  type Leases,
  type Live,
  type Logger,
  type OutgoingHttp,
  type PublicUrl,
  type Store,
  token,
  type UnitsOfWork,
  type Vault,
} from "#core"
import type { Pauses } from "#core/engine"
import type { AnyIntegrationApp } from "../app.ts"
import type { OAuthClient } from "../apps/oauth-provider.ts"
import type { HealthSchedule } from "../health/schedule.ts"
import type { OrganizationApps } from "../own-apps/organization-apps.ts"
import { OAuthAccess } from "./access.ts"
import { Authorizations } from "./authorization.ts"
import { createOAuthClients } from "./clients.ts"
import { GrantStore } from "./grant-store.ts"
import { OAuthProtocol } from "./protocol.ts"
import { Revocation } from "./revocation.ts"
import { ServiceTokens } from "./service-tokens.ts"

export interface OAuth {
  /** Returns true if the app has an authorization server and a client. */
  canGrant(organization: string, app: AnyIntegrationApp): Promise<boolean>
  readonly authorizations: Authorizations
  readonly access: OAuthAccess
  readonly revocation: Revocation
  readonly serviceTokens: ServiceTokens
}

export const OAuth = token<OAuth>("OAuth")

interface OAuthDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly vault: Vault
  readonly clock: Clock
  readonly ids: Ids
  readonly leases: Leases
  readonly log: Logger
  readonly http: OutgoingHttp
  readonly publicUrl: PublicUrl
  readonly apps: OrganizationApps
  readonly jobs: JobQueue
  readonly live: Live
  readonly schedule: HealthSchedule
  readonly pauses: Pauses
  readonly organizationName: (id: string) => Promise<string>
}

export function createOAuth(deps: OAuthDeps, configured: Readonly<Record<string, OAuthClient>>): OAuth {
  const protocol = new OAuthProtocol(deps)
  const grants = new GrantStore(deps)
  const clients = createOAuthClients(deps, configured)
  const shared = { ...deps, protocol, grants, clients }
  const revocation = new Revocation(shared)
  const parts = { ...shared, revocation }
  const canGrant = async (organization: string, app: AnyIntegrationApp) =>
    app.oauth !== undefined && (await clients.find(organization, app)) !== undefined
  return {
    canGrant,
    authorizations: new Authorizations(parts),
    access: new OAuthAccess(parts),
    revocation,
    serviceTokens: new ServiceTokens(parts),
  }
}
