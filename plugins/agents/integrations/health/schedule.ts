// Schedules the periodic checks of connections, each at its own minutes.
import { createHash } from "node:crypto"
import { z } from "zod"
import { type Deps, jobRef, Scheduler, type UnitOfWork, Vault } from "#core"
import type { AnyIntegrationApp } from "../app.ts"
import type { TestCall } from "../apps/document.ts"
import { type Connection, openCredentials } from "../connections.ts"

export const checkIntervals = ["off", "15m", "1h", "6h"] as const
export type CheckInterval = (typeof checkIntervals)[number]

export const checkRef = jobRef("integrations.check_health", z.strictObject({ id: z.uuid() }), {
  retry: { max_attempts: 3, initial_delay_ms: 5_000, factor: 4, max_delay_ms: 60_000 },
})

interface ScheduleDeps extends Deps<typeof HealthSchedule.inject> {
  readonly interval: CheckInterval
}

export class HealthSchedule {
  static readonly inject = { scheduler: Scheduler, vault: Vault }
  readonly #deps: ScheduleDeps

  constructor(deps: ScheduleDeps) {
    this.#deps = deps
  }

  /** Stages periodic checks of a connection with access and a test call. */
  set(work: UnitOfWork, organization: string, connection: Connection, app: AnyIntegrationApp | undefined): void {
    const { scheduler, interval, vault } = this.#deps
    const { id } = connection
    if (interval === "off" || connection.status !== "connected" || !testOf(vault, organization, connection, app)) this.end(work, id)
    else scheduler.set(work, { id, organization, job: checkRef, payload: { id }, cron: cronOf(id, interval) })
  }

  end(work: UnitOfWork, id: string): void {
    this.#deps.scheduler.remove(work, checkRef, id)
  }
}

/** Returns the test call of the connection's credentials, if any. */
export function testOf(
  vault: Vault,
  organization: string,
  connection: Connection,
  app: AnyIntegrationApp | undefined,
): TestCall | undefined {
  if (!app || app.document) return app?.document?.test
  return app.test && connection.credentials ? app.test(openCredentials(vault, organization, connection)) : undefined
}

/** Spreads the checks over the minutes, so connections are not checked all at once. */
function cronOf(id: string, interval: Exclude<CheckInterval, "off">): string {
  const hash = createHash("sha256").update(id).digest()
  const minute = hash.readUInt8(0) % 60
  if (interval === "15m") return `${[0, 15, 30, 45].map((quarter) => quarter + (minute % 15)).join(",")} * * * *`
  if (interval === "1h") return `${minute} * * * *`
  const first = hash.readUInt8(1) % 6
  return `${minute} ${[0, 6, 12, 18].map((hour) => hour + first).join(",")} * * *`
}
