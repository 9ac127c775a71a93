// Tokens of a connection that ends are revoked at the authorization server, by a job: the server may be down just then.
import { z } from "zod"
import { defineJob, type Ids, type JobQueue, token, type UnitOfWork, type Vault } from "#core"
import { jobSealContext } from "#core/engine"
import type { IntegrationApps } from "../app.ts"
import type { Connection } from "../connections.ts"
import type { OAuthClients } from "./clients.ts"
import { Grants } from "./collections.ts"
import type { GrantStore, Tokens } from "./grant-store.ts"
import type { OAuthProtocol } from "./protocol.ts"

interface RevocationDeps {
  readonly vault: Vault
  readonly ids: Ids
  readonly jobs: JobQueue
  readonly apps: IntegrationApps
  readonly clients: OAuthClients
  readonly protocol: OAuthProtocol
  readonly grants: GrantStore
}

const Payload = z.strictObject({ app: z.string(), sealed: z.strictObject({ key_id: z.string(), text: z.string() }) })

export class Revocation {
  readonly #deps: RevocationDeps

  constructor(deps: RevocationDeps) {
    this.#deps = deps
  }

  /** Stages the end of a connection's grant, where it has one. */
  async stage(work: UnitOfWork, organization: string, { id, app }: Connection): Promise<void> {
    const { grants } = this.#deps
    const grant = await grants.get(organization, id)
    if (!grant) return
    work.in(Grants, organization).remove(id, { where: { generation: grant.generation } })
    this.stageTokens(work, organization, app, grants.open(organization, grant))
  }

  /** Stages the revocation of tokens that no grant holds. */
  stageTokens(work: UnitOfWork, organization: string, app: string, { access_token, refresh_token }: Tokens): void {
    const { vault, ids, jobs } = this.#deps
    const jobId = ids.uuid()
    const sealed = vault.seal(JSON.stringify({ access_token, refresh_token }), jobSealContext(jobId))
    jobs.enqueue(work, revokeGrant, { app, sealed }, { organization, id: jobId })
  }

  async revoke(organization: string, jobId: string, { app, sealed }: z.output<typeof Payload>): Promise<void> {
    const { vault, apps, clients, protocol } = this.#deps
    const { oauth } = apps.get(app)
    if (!oauth) return
    const { access_token, refresh_token } = JSON.parse(vault.open(sealed, jobSealContext(jobId))) as Tokens
    const tokens = refresh_token === undefined ? [access_token] : [refresh_token, access_token]
    await protocol.revoke(oauth, await clients.of(organization, app), tokens)
  }
}

export const GrantRevocation = token<Revocation>("OAuth grant revocation")

export const revokeGrant = defineJob({
  type: "integrations.revoke_grant",
  summary: "Revoke the tokens of a disconnected integration.",
  payload: Payload,
  timeoutMs: 180_000,
  inject: { revocation: GrantRevocation },
  run: ({ payload, deps, jobId, organization = "" }) => deps.revocation.revoke(organization, jobId, payload),
})
