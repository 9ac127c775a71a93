// The consent ledger, to which entries are only ever added; what is left of people who were erased; and for what an
// organization wants a consent.
import { type Document, defineCollection, derivedUuid, type Json } from "#core"

export const entryKinds = ["given", "withdrawn"] as const
export const entrySources = ["form", "link", "message", "call", "import", "operation", "other"] as const
/** Of a purpose: every one. */
export const everyPurpose = "all"
/** Of a channel: every one that the address or number has. */
export const everyChannel = "all"

export interface ConsentEntry extends Document {
  /** Of the person, under the ledger's key. */
  digest: string
  address: string
  kind: (typeof entryKinds)[number]
  channel: string
  purpose: string
  source: (typeof entrySources)[number]
  wording: string
  evidence: Record<string, Json>
  /** When the person said it. */
  at: string
  recorded_at: string
  recorded_by: string
}

/** Audited by size: what is erased here must not be left in the audit log. */
export const ConsentCollection = defineCollection<ConsentEntry>()({
  name: "consents",
  outlivesRestore: true,
  scope: "organization",
  times: ["at", "recorded_at"],
  indexes: [{ fields: ["digest", "-at"] }, { fields: ["-recorded_at"] }],
  audit: "size",
  repairsText: true,
})

/** Of a person who was erased; `id` follows from the digest. */
export interface Tombstone extends Document {
  digest: string
  reason: string
  erased_at: string
  erased_by: string
  /** How many entries were removed. */
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
