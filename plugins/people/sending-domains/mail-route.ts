// The routes of active domains: a global index, kept with each change of a domain.
import { type Document, defineCollection, type UnitOfWork } from "#core"
import type { DomainStatus } from "./collections.ts"

interface StoredRoute extends Document {
  domain: string
  owner_id: string
  receives: boolean
  registered_at: string
}

/** `id` is that of the sending domain. */
export const MailRouteCollection = defineCollection<StoredRoute>()({
  name: "mail_routes",
  scope: "global",
  times: ["registered_at"],
  indexes: [{ fields: ["domain", "registered_at"] }],
  audit: "none",
})

interface RoutedDomain {
  readonly id: string
  readonly domain: string
  readonly status: DomainStatus
  readonly receiving_enabled: boolean
  readonly created_at: string
}

/** Stages the route of an active domain. Removes the route of another domain. */
export function stageRoute(
  work: UnitOfWork,
  organization: string,
  { id, domain, status, receiving_enabled, created_at }: RoutedDomain,
): void {
  const routes = work.in(MailRouteCollection)
  const route = { domain, owner_id: organization, receives: receiving_enabled, registered_at: created_at }
  if (status === "active") routes.update(id, { $set: route }, { upsert: true })
  else routes.remove(id, { optional: true })
}
