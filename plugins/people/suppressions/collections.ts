// The suppression list: an entry with evidence for each address of an organization and reason. Also the service's key for lookups
// of addresses and for tokens.
import { type Document, defineCollection, derivedUuid, type Sealed } from "#core"

export const suppressionReasons = ["hard_bounce", "complaint", "unsubscribe", "manual"] as const
export type SuppressionReason = (typeof suppressionReasons)[number]

export const suppressionSources = ["smtp", "bounce", "feedback_report", "link", "operation"] as const
export type SuppressionSource = (typeof suppressionSources)[number]

export interface Evidence {
  /** Id of the message behind the entry, with angle brackets. */
  message_id: string | null
  /** RFC 3463. */
  smtp_status: string | null
  /** Text of the report, truncated. */
  report: string
  /** The credential of the person who made the entry. */
  credential_id: string | null
}

export interface StoredSuppression extends Document {
  /** Keyed digest of organization and address. */
  digest: string
  address: string
  reason: SuppressionReason
  source: SuppressionSource
  evidence: Evidence
  created_at: string
}

/** Returns the entry id of an address digest and a reason. */
export function suppressionId(digest: string, reason: SuppressionReason): string {
  return derivedUuid("suppression", digest, reason)
}

export const SuppressionCollection = defineCollection<StoredSuppression>()({
  name: "suppressions",
  outlivesRestore: true,
  scope: "organization",
  times: ["created_at"],
  indexes: [{ fields: ["-created_at"] }, { fields: ["reason", "-created_at"] }, { fields: ["source", "-created_at"] }],
  repairsText: true,
})

interface MailKey extends Document {
  key: Sealed
  created_at: string
}

export const keySealContext = "key of the suppression list"

export const MailKeyCollection = defineCollection<MailKey>()({
  name: "suppression_keys",
  outlivesRestore: true,
  scope: "global",
  times: ["created_at"],
  indexes: [],
  sealed: ({ key }) => [{ path: "key", sealed: key, context: keySealContext }],
})
