// Ids, states and the sealing context of sending domains.
import { type Document, defineCollection, derivedUuid, type UnitOfWork } from "#core"

export const statuses = ["pending", "active", "failed", "disabled"] as const
type DomainStatus = (typeof statuses)[number]

/** Returns the id of a domain registration in an organization. */
export function domainId(organization: string, domain: string): string {
  return derivedUuid("sending domain", organization, domain)
}

/** Returns the vault context of a private key. */
export function sealContext(id: string): string {
  return `sending domain ${id}`
}

// The routes of active domains: a global index, updated with each change of a domain.

interface StoredRoute extends Document {
  domain: string
  owner_id: string
  receives: boolean
  registered_at: string
}

/** `id` is the id of the sending domain. */
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

/** Stages the route of an active domain, or the removal of an inactive domain's route. */
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
