// Pauses the private connections of a person who leaves the organization. An admin takes them over.
import { AppError, type Clock, type Store, stageRevision } from "#core"
import type { DepartureHook } from "../../platform/organizations/index.ts"
import { type Connection, Connections } from "./connections.ts"
import type { HealthSchedule } from "./health/schedule.ts"

interface DepartureDeps {
  readonly store: Store
  readonly clock: Clock
  readonly schedule: HealthSchedule
}

/** Shared and lent connections belong to the organization, and continue. */
const ofPerson = { shared: false, managed_access: "none" }

export function pauseConnectionsOf({ store, clock, schedule }: DepartureDeps): DepartureHook {
  return async (work, { organization, user }) => {
    const connections = await store.open(Connections, organization).find({ connected_by: user, ...ofPerson })
    for (const connection of connections) {
      stageRevision(work.in(Connections, organization), connection, { paused: true }, clock.now())
      schedule.end(work, connection.id)
    }
    return connections.map(({ id, name }) => ({ kind: "integration", id, name, operation: "integrations.hand_over" }))
  }
}

/** Throws `failed_precondition` for a paused connection. */
export function requireRunning({ paused, slug }: Pick<Connection, "paused" | "slug">): void {
  if (!paused) return
  const message = `The connector of the integration "${slug}" left. An admin takes it over with integrations.hand_over first.`
  throw new AppError("failed_precondition", message, { reason: "integration_paused", retryable: false })
}
