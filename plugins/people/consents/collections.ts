// The consent ledger (append-only), tombstones of erased people, and purposes with required consent.
import { type Document, defineCollection, derivedUuid, type Json } from "#core"

export const entryKinds = ["given", "withdrawn"] as const
export const entrySources = ["form", "link", "message", "call", "import", "operation", "other"] as const
/** As a purpose: all purposes. */
export const everyPurpose = "all"
/** As a channel: all channels of the address or number. */
export const everyChannel = "all"

export interface ConsentEntry extends Document {
  /** Digest of the person under the ledger's key. */
  digest: string
  address: string
  kind: (typeof entryKinds)[number]
  channel: string
  purpose: string
  source: (typeof entrySources)[number]
  wording: string
  evidence: Record<string, Json>
  /** Time of the person's statement. */
  at: string
  recorded_at: string
  recorded_by: string
}

/** Audited by size, so the audit log contains no erased data. */
export const ConsentCollection = defineCollection<ConsentEntry>()({
  name: "consents",
  outlivesRestore: true,
  scope: "organization",
  times: ["at", "recorded_at"],
  indexes: [{ fields: ["digest", "-at"] }, { fields: ["-recorded_at"] }],
  audit: "size",
  repairsText: true,
})

/** Marks an erased person. `id` is derived from the digest. */
export interface Tombstone extends Document {
  digest: string
  reason: string
  erased_at: string
  erased_by: string
  /** Number of removed entries. */
  entries: number
}

export const TombstoneCollection = defineCollection<Tombstone>()({
  name: "consent_tombstones",
  outlivesRestore: true,
  scope: "organization",
  times: ["erased_at"],
  indexes: [{ fields: ["-erased_at"] }],
})

export function tombstoneId(digest: string): string {
  return derivedUuid("consent tombstone", digest)
}

export interface ConsentSettings extends Document {
  required_purposes: string[]
  updated_at: string
}

export const ConsentSettingsCollection = defineCollection<ConsentSettings>()({
  name: "consent_settings",
  scope: "organization",
  times: ["updated_at"],
  indexes: [],
})

export function settingsId(organization: string): string {
  return derivedUuid(organization, "consent settings")
}
