// A connection's health as it is kept, and told where that is news: on the live channel, of connections that others than
// their connector may see.
import { defineChannel, type Live, type UnitOfWork } from "#core"
import { type Connection, Connections, isUsedByPipelines } from "../connections.ts"
import type { Health } from "./health.ts"

export const connectionsChannel = defineChannel({
  name: "connections",
  scope: "integrations:read",
  summary: "Connections that begin to fail, and those that work again.",
})

/** Stages the live message alone. */
export function tellHealth(work: UnitOfWork, live: Live, organization: string, connection: Connection, health: Health): void {
  if (!isUsedByPipelines(connection) || !isNews(connection.health, health)) return
  const { status, reason, message, since } = health
  const data = { integration_id: connection.id, slug: connection.slug, app: connection.app, status, reason, message, since }
  live.stage(work, organization, { channel: connectionsChannel.name, event: "health_changed", data })
}

/** Stages the health that a check found; of credentials that were rotated meanwhile it says nothing. */
export function recordHealth(work: UnitOfWork, live: Live, organization: string, connection: Connection, health: Health): void {
  const { id, revision } = connection
  work.in(Connections, organization).update(id, { $set: { health: { ...health } } }, { where: { revision } })
  tellHealth(work, live, organization, connection, health)
}

function isNews(before: Health, after: Health): boolean {
  return after.status === "failing" ? before.status !== "failing" || before.reason !== after.reason : before.status === "failing"
}
