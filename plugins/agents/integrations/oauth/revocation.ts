// A job revokes the tokens of an ended connection at the authorization server. The server may be down, so the job retries.
import { z } from "zod"
import { defineJob, type Ids, type JobQueue, type Logger, token, type UnitOfWork, type Vault } from "#core"
import { jobSealContext } from "#core/engine"
import type { Connection } from "../connections.ts"
import type { AppRef, OrganizationApps } from "../own-apps/organization-apps.ts"
import type { OAuthClients } from "./clients.ts"
import type { Grant } from "./collections.ts"
import type { GrantStore, Tokens } from "./grant-store.ts"
import type { OAuthProtocol } from "./protocol.ts"

interface RevocationDeps {
  readonly vault: Vault
  readonly ids: Ids
  readonly jobs: JobQueue
  readonly apps: OrganizationApps
  readonly clients: OAuthClients
  readonly protocol: OAuthProtocol
  readonly grants: GrantStore
}

const Payload = z.strictObject({
  app: z.string(),
  own_app: z.boolean().default(false),
  client_id: z.string().nullable().default(null),
  sealed: z.strictObject({ key_id: z.string(), text: z.string() }),
})

export class Revocation {
  readonly #deps: RevocationDeps

  constructor(deps: RevocationDeps) {
    this.#deps = deps
  }

  /** Stages the end of a connection's grant, if any. */
  async stage(work: UnitOfWork, organization: string, connection: Connection): Promise<void> {
    const { grants } = this.#deps
    const grant = await grants.get(organization, connection.id)
    if (!grant) return
    grants.remove(work, organization, grant)
    this.stageTokens(work, organization, connection, grants.open(organization, grant), grant.client_id)
  }

  /** Stages the end of a replaced grant. Skips the revocation if the new grant has the same access or refresh token. */
  stageReplaced(work: UnitOfWork, organization: string, app: AppRef, before: Grant, now: Tokens): void {
    const tokens = this.#deps.grants.open(organization, before)
    if (tokens.access_token === now.access_token || tokens.refresh_token === now.refresh_token) return
    this.stageTokens(work, organization, app, tokens, before.client_id)
  }

  /** Stages the revocation of tokens without a grant. */
  stageTokens(work: UnitOfWork, organization: string, { app, own_app }: AppRef, tokens: Tokens, client_id: string | null): void {
    const { vault, ids, jobs } = this.#deps
    const { access_token, refresh_token } = tokens
    const jobId = ids.uuid()
    const sealed = vault.seal(JSON.stringify({ access_token, refresh_token }), jobSealContext(jobId))
    jobs.enqueue(work, revokeGrant, { app, own_app, client_id, sealed }, { organization, id: jobId })
  }

  /**
   * Revokes tokens. If a revocation ends all grants of an account, skips it while any connection has a grant of the client. The
   * account of each grant is unknown.
   */
  async revoke(organization: string, jobId: string, { sealed, client_id, ...ref }: z.output<typeof Payload>, log: Logger): Promise<void> {
    const { vault, apps, clients, protocol, grants } = this.#deps
    const app = await apps.find(organization, ref)
    if (!app?.oauth) return
    if (app.oauth.revocation_ends === "account" && (await grants.isHeld(app.oauth, client_id))) {
      log.info({ app: app.name }, "tokens were not revoked, since that could end another connection of the same account")
      return
    }
    const tokens = JSON.parse(vault.open(sealed, jobSealContext(jobId))) as Tokens
    await protocol.of(organization).revoke(app.oauth, await clients.of(organization, app, client_id), tokens)
  }
}

export const GrantRevocation = token<Revocation>("OAuth grant revocation")

export const revokeGrant = defineJob({
  type: "integrations.revoke_grant",
  summary: "Revoke tokens that no integration uses any more.",
  payload: Payload,
  timeoutMs: 180_000,
  inject: { revocation: GrantRevocation },
  run: ({ payload, deps, jobId, organization = "", log }) => deps.revocation.revoke(organization, jobId, payload, log),
})
