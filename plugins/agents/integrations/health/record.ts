// Stores a connection's health. A change is announced on the live channel, for connections visible to others than their
// connector.
import { defineChannel, type Live, type UnitOfWork } from "#core"
import { type Connection, Connections, isUsedByPipelines } from "../connections.ts"
import type { Health } from "./health.ts"

export const connectionsChannel = defineChannel({
  name: "connections",
  scope: "integrations:read",
  summary: "Connections that begin to fail, and those that work again.",
})

/** Stages only the live message. */
export function tellHealth(work: UnitOfWork, live: Live, organization: string, connection: Connection, health: Health): void {
  if (!isUsedByPipelines(connection) || !isNews(connection.health, health)) return
  const { status, reason, message, since } = health
  const data = { integration_id: connection.id, slug: connection.slug, app: connection.app, status, reason, message, since }
  live.stage(work, organization, { channel: connectionsChannel.name, event: "health_changed", data })
}

/** Stages the health after a check. The commit fails if the credentials were rotated meanwhile. */
export function recordHealth(work: UnitOfWork, live: Live, organization: string, connection: Connection, health: Health): void {
  const { id, revision } = connection
  work.in(Connections, organization).update(id, { $set: { health: { ...health } } }, { where: { revision } })
  tellHealth(work, live, organization, connection, health)
}

function isNews(before: Health, after: Health): boolean {
  return after.status === "failing" ? before.status !== "failing" || before.reason !== after.reason : before.status === "failing"
}
