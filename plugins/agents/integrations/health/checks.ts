// Checks connections with the app's real test call, on request or on a schedule.
import { AppError, Clock, type Deps, defineJob, Live, Store, type UnitOfWork, Vault } from "#core"
import type { TestCall } from "../apps/document.ts"
import { type Connection, Connections } from "../connections.ts"
import { requireRunning } from "../departure.ts"
import { Integrations } from "../integrations.ts"
import { OrganizationApps } from "../own-apps/organization-apps.ts"
import { type Health, healthAfter } from "./health.ts"
import { type Proof, proofOf, proofOfFailure } from "./proof.ts"
import { recordHealth } from "./record.ts"
import { checkRef, testOf } from "./schedule.ts"

const timeoutMs = 15_000

export class HealthChecks {
  static readonly inject = { store: Store, vault: Vault, apps: OrganizationApps, integrations: Integrations, clock: Clock, live: Live }
  readonly #deps: Deps<typeof HealthChecks.inject>

  constructor(deps: Deps<typeof HealthChecks.inject>) {
    this.#deps = deps
  }

  /**
   * Makes the test call and stages its result. Throws `failed_precondition` for a paused connection, and for an app without a
   * test call.
   */
  async check(
    work: UnitOfWork,
    organization: string,
    connection: Connection,
    signal: AbortSignal,
  ): Promise<{ proof: Proof; health: Health }> {
    const { apps, vault, clock, live, store } = this.#deps
    requireRunning(connection)
    const test = testOf(vault, organization, connection, await apps.find(organization, connection))
    if (!test) {
      const hint = connection.app === "http" ? " Rotate its credentials with a test_path." : ""
      throw new AppError("failed_precondition", `The app ${connection.app} names no call that proves the credentials.${hint}`, {
        reason: "no_test_call",
        retryable: false,
      })
    }
    const proof = await this.#prove(organization, connection, test, signal)
    // The call itself may have detected and stored the end of the authorization.
    const now = proof.ok ? connection : ((await store.open(Connections, organization).get(connection.id)) ?? connection)
    if (now.status === "authorization_expired" && now.revision === connection.revision) return { proof, health: now.health }
    const health = healthAfter(connection.health, proof, clock.now())
    recordHealth(work, live, organization, connection, health)
    return { proof, health }
  }

  async #prove(organization: string, connection: Connection, test: TestCall, signal: AbortSignal): Promise<Proof> {
    const { method, path, query } = test
    try {
      const context = { signal, timeoutMs }
      return proofOf(test, await this.#deps.integrations.callThrough(organization, connection, { method, path, query }, context))
    } catch (error) {
      return proofOfFailure(error)
    }
  }
}

export const checkHealth = defineJob(checkRef, {
  summary: "Check the credentials of a connection by its app's test call.",
  inject: { store: Store, checks: HealthChecks },
  async run({ payload, organization = "", deps: { store, checks }, work, signal }) {
    const connection = await store.open(Connections, organization).get(payload.id)
    if (connection?.status === "connected" && !connection.paused) await checks.check(work, organization, connection, signal)
  },
})
