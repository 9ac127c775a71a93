// Ids, states and the sealing context of sending domains.
import { derivedUuid } from "#core"

export const statuses = ["pending", "active", "failed", "disabled"] as const
export type DomainStatus = (typeof statuses)[number]

/** One registration of a domain in an organization. */
export function domainId(organization: string, domain: string): string {
  return derivedUuid("sending domain", organization, domain)
}

/** Context of the vault for a private key. */
export function sealContext(id: string): string {
  return `sending domain ${id}`
}
