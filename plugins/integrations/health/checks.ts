// Checks of connections: the app's test call, made for real, by a caller or by a schedule. A change of status is told on
// the live channel, of connections that others than their connector may see.
import { createHash } from "node:crypto"
import { z } from "zod"
import { AppError, type Clock, defineChannel, defineJob, type Live, type Scheduler, Store, token, type UnitOfWork, type Vault } from "#core"
import type { IntegrationApps } from "../app.ts"
import type { TestCall } from "../apps/document.ts"
import { type Connection, Connections, openCredentials } from "../connections.ts"
import type { Integrations } from "../integrations.ts"
import { type Health, healthAfter } from "./health.ts"
import { type Proof, proofOf, proofOfFailure } from "./proof.ts"

export const connectionsChannel = defineChannel({
  name: "connections",
  summary: "Connections that begin to fail, and those that work again.",
})

export const checkIntervals = ["off", "15m", "1h", "6h"] as const
export type CheckInterval = (typeof checkIntervals)[number]

interface ChecksDeps {
  readonly vault: Vault
  readonly apps: IntegrationApps
  readonly integrations: Integrations
  readonly scheduler: Scheduler
  readonly clock: Clock
  readonly live: Live
  readonly interval: CheckInterval
}

const timeoutMs = 15_000

export class HealthChecks {
  readonly #deps: ChecksDeps

  constructor(deps: ChecksDeps) {
    this.#deps = deps
  }

  /** Stages that the connection is checked from time to time, where its app says how. */
  schedule(work: UnitOfWork, organization: string, connection: Connection): void {
    const { scheduler, interval } = this.#deps
    const { id } = connection
    if (interval === "off" || connection.status !== "connected" || !this.#testOf(organization, connection)) this.end(work, id)
    else scheduler.set(work, { id, organization, job: checkRef, payload: { id }, cron: cronOf(id, interval) })
  }

  end(work: UnitOfWork, id: string): void {
    this.#deps.scheduler.remove(work, checkRef, id)
  }

  /** Makes the test call and stages what it says. Throws `failed_precondition` where the app has none. */
  async check(
    work: UnitOfWork,
    organization: string,
    connection: Connection,
    signal: AbortSignal,
  ): Promise<{ proof: Proof; health: Health }> {
    const test = this.#testOf(organization, connection)
    if (!test) {
      const hint = connection.app === "http" ? " Rotate its credentials with a test_path." : ""
      throw new AppError("failed_precondition", `The app ${connection.app} names no call that proves the credentials.${hint}`, {
        reason: "no_test_call",
        retryable: false,
      })
    }
    const proof = await this.#prove(organization, connection, test, signal)
    const health = healthAfter(connection.health, proof, this.#deps.clock.now())
    const { id, revision, slug } = connection
    // Of credentials that were rotated meanwhile it says nothing.
    work.in(Connections, organization).update(id, { $set: { health: { ...health } } }, { where: { revision } })
    if (connection.shared && isNews(connection.health, health)) {
      const { status, reason, message, since } = health
      const data = { integration_id: id, slug, app: connection.app, status, reason, message, since }
      this.#deps.live.stage(work, organization, { channel: connectionsChannel.name, event: "health_changed", data })
    }
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

  #testOf(organization: string, connection: Connection): TestCall | undefined {
    const { apps, vault } = this.#deps
    const app = apps.all().find(({ name }) => name === connection.app)
    if (!app || app.document) return app?.document?.test
    return app.test && connection.credentials ? app.test(openCredentials(vault, organization, connection)) : undefined
  }
}

export const HealthChecksToken = token<HealthChecks>("health checks of integrations")

const checkRef = {
  type: "integrations.check_health",
  payload: z.strictObject({ id: z.uuid() }),
  retry: { max_attempts: 3, initial_delay_ms: 5_000, factor: 4, max_delay_ms: 60_000 },
}

export const checkHealth = defineJob({
  ...checkRef,
  summary: "Check the credentials of a connection by its app's test call.",
  inject: { store: Store, checks: HealthChecksToken },
  async run({ payload, organization = "", deps: { store, checks }, work, signal }) {
    const connection = await store.open(Connections, organization).get(payload.id)
    if (connection?.status === "connected") await checks.check(work, organization, connection, signal)
  },
})

function isNews(before: Health, after: Health): boolean {
  return after.status === "failing" ? before.status !== "failing" || before.reason !== after.reason : before.status === "failing"
}

/** At minutes of its own, so that not all connections are checked at once. */
function cronOf(id: string, interval: Exclude<CheckInterval, "off">): string {
  const hash = createHash("sha256").update(id).digest()
  const minute = hash.readUInt8(0) % 60
  if (interval === "15m") return `${[0, 15, 30, 45].map((quarter) => quarter + (minute % 15)).join(",")} * * * *`
  if (interval === "1h") return `${minute} * * * *`
  const first = hash.readUInt8(1) % 6
  return `${minute} ${[0, 6, 12, 18].map((hour) => hour + first).join(",")} * * *`
}
