// Sending domains: what was registered, the records and the key made for it, and what DNS said.
import { type Document, defineCollection, derivedUuid, type Sealed } from "#core"
import type { RecordCheck } from "./checks/record-check.ts"
import type { ExpectedRecord } from "./records.ts"

export const statuses = ["pending", "active", "failed", "disabled"] as const
export type DomainStatus = (typeof statuses)[number]

export interface StoredDomain extends Document {
  domain: string
  /** The registrable domain. */
  apex: string
  status: DomainStatus
  error_reason: string
  selector: string
  private_key: Sealed
  records: ExpectedRecord[]
  existing_mx_detected: boolean
  registered_receiving: boolean
  receiving_enabled: boolean
  forward_to_email: string
  from_local_part: string
  from_name: string
  last_checked_at: string | null
  /** The last check that found every record; an active domain has one. */
  evidence: { at: string; records: RecordCheck[] } | null
  /** What the last checks found wrong, how many of them in a row, and when that was last counted. */
  strikes: { what: string; count: number; at: string } | null
  revision: number
  created_at: string
  updated_at: string
}

/** One registration of a domain in an organization. */
export function domainId(organization: string, domain: string): string {
  return derivedUuid("sending domain", organization, domain)
}

/** What a private key is sealed with. */
export function sealContext(id: string): string {
  return `sending domain ${id}`
}

export const SendingDomainCollection = defineCollection<StoredDomain>()({
  name: "sending_domains",
  scope: "organization",
  times: ["created_at", "updated_at", "last_checked_at", "evidence.at", "strikes.at"],
  indexes: [{ fields: ["-created_at"] }, { fields: ["status", "created_at"] }],
  sealed: ({ id, private_key }) => [{ path: "private_key", sealed: private_key, context: sealContext(id) }],
})
