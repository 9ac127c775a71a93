// The suppression list: one entry for each address of an organization and reason, with its evidence; and the service's
// key, under which addresses are looked up and tokens are made.
import { type Document, defineCollection, derivedUuid, type Sealed } from "#core"

export const suppressionReasons = ["hard_bounce", "complaint", "unsubscribe", "manual"] as const
export type SuppressionReason = (typeof suppressionReasons)[number]

export const suppressionSources = ["smtp", "bounce", "feedback_report", "link", "operation"] as const
export type SuppressionSource = (typeof suppressionSources)[number]

export interface Evidence {
  /** Of the message that it followed from, with angle brackets. */
  message_id: string | null
  /** RFC 3463. */
  smtp_status: string | null
  /** What was said, bounded. */
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

/** The entry of an address, told by its digest, for one reason. */
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
