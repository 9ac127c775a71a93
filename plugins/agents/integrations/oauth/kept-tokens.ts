// Stores refreshed tokens. If the store fails, tokens stay in memory and are written later. The server no longer accepts the
// earlier refresh token.
import { AppError, type Clock, type Live, type Logger, type UnitsOfWork } from "#core"
import { sleep } from "#core/engine"
import type { IntegrationApp } from "../app.ts"
import type { OAuthProvider } from "../apps/oauth-provider.ts"
import { type Connection, Connections } from "../connections.ts"
import { endedHealth, isSilentHealth, unknownHealth } from "../health/health.ts"
import { tellHealth } from "../health/record.ts"
import type { Grant } from "./collections.ts"
import type { GrantStore } from "./grant-store.ts"
import type { Revocation } from "./revocation.ts"

export interface KeptTokensDeps {
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly live: Live
  readonly log: Logger
  readonly grants: GrantStore
  readonly revocation: Revocation
}

/** A connection of an OAuth app, with its owning organization. */
export interface Granted {
  readonly organization: string
  readonly connection: Connection
  readonly app: Pick<IntegrationApp, "name" | "own"> & { readonly oauth: OAuthProvider }
}

const pauseMs = 200
const writeTries = 5

export class KeptTokens {
  readonly #deps: KeptTokensDeps
  /** By connection. */
  readonly #unwritten = new Map<string, { readonly before: Grant; readonly grant: Grant }>()

  constructor(deps: KeptTokensDeps) {
    this.#deps = deps
  }

  /** Returns false if the tokens stay in memory for now. */
  async write(granted: Granted, before: Grant, grant: Grant): Promise<boolean> {
    const { clock, log } = this.#deps
    const { id } = granted.connection
    this.#unwritten.set(id, { before, grant })
    for (let tried = 1; ; tried++) {
      try {
        await this.#flush(granted)
        return true
      } catch (err) {
        if (tried === writeTries) {
          log.error({ err, integration_id: id }, "refreshed tokens are kept in memory until the store takes them")
          return false
        }
        await sleep(clock, pauseMs * tried)
      }
    }
  }

  /** Retries the write. Returns the tokens still unwritten. */
  async flushed(granted: Granted): Promise<Grant | undefined> {
    await this.#flush(granted).catch(() => undefined)
    return this.#unwritten.get(granted.connection.id)?.grant
  }

  /** Writes pending tokens. Revokes them if the connection ended meanwhile. */
  async #flush(granted: Granted): Promise<void> {
    const { works, grants, revocation, log } = this.#deps
    const { organization, connection } = granted
    const { id } = connection
    const waiting = this.#unwritten.get(id)
    if (!waiting) return
    try {
      await this.swap(granted, waiting.before, waiting.grant)
    } catch (error) {
      if (!(error instanceof AppError && (error.code === "aborted" || error.code === "not_found"))) throw error
      const stored = await grants.get(organization, id)
      // Another node may have marked the grant as refused, after a request with the replaced token.
      if (stored?.generation === waiting.before.generation) {
        this.#unwritten.set(id, { ...waiting, before: stored })
        throw error
      }
      if (stored) log.warn({ integration_id: id, generation: stored.generation }, "other tokens were written during a refresh")
      else
        await works.run((work) =>
          revocation.stageTokens(work, organization, connection, grants.open(organization, waiting.grant), waiting.grant.client_id),
        )
    }
    if (this.#unwritten.get(id) === waiting) this.#unwritten.delete(id)
  }

  /** Replaces the grant as read, and updates its connection's state. */
  async swap({ organization, connection, app }: Granted, before: Grant, grant: Grant): Promise<void> {
    const { works, grants, live } = this.#deps
    await works.run((work) => {
      grants.stage(work, organization, before, grant)
      grants.hold(work, connection.id, app.oauth, grant.client_id)
      if (grant.refused_at === null) {
        const isSilent = isSilentHealth(connection.health)
        const healed = isSilent ? { health: { ...unknownHealth } } : {}
        work.in(Connections, organization).update(connection.id, { $set: { authorization_error: null, ...healed } }, { optional: true })
        if (isSilent) tellHealth(work, live, organization, connection, unknownHealth)
      }
      if ((before.refused_at === null) === (grant.refused_at === null)) return
      const status = grant.refused_at === null ? "connected" : "authorization_expired"
      const health =
        grant.refused_at === null
          ? unknownHealth
          : endedHealth(connection.health, `${connection.app} refused to refresh the authorization`, grant.refused_at)
      work.in(Connections, organization).update(connection.id, { $set: { status, health: { ...health } } })
      tellHealth(work, live, organization, connection, health)
    })
  }
}
