// Leads, their addresses and numbers, manual changes, and rows about leads.
import { type Document, defineCollection, derivedUuid, isUuid } from "#core"
import { personKey } from "../conversations/index.ts"
import type { Identity } from "./identity.ts"

export interface StoredLead extends Document {
  name: string
  emails: string[]
  phones: string[]
  /** IANA. Absent or empty if unknown. */
  time_zone?: string
  /** The target lead of a merge. Null: not merged. */
  merged_into: string | null
  /** Leads named by a row together with this lead. */
  possible_duplicates: string[]
  /** First contact: addresses and time. Absent for a lead from a split, or if the history has the first contact. */
  created_with?: { at: string } & Pick<StoredLead, "emails" | "phones">
  first_seen_at: string
  last_seen_at: string
  revision: number
  created_at: string
  updated_at: string
}

export const LeadCollection = defineCollection<StoredLead>()({
  name: "leads",
  scope: "organization",
  times: ["first_seen_at", "last_seen_at", "created_at", "updated_at"],
  indexes: [{ fields: ["merged_into", "-last_seen_at"] }],
  audit: "size",
  repairsText: true,
})

/** An address or number. The id is derived from the normalized value, so each address or number belongs to a single lead. */
export interface StoredIdentity extends Document, Identity {
  lead_id: string
}

export const IdentityCollection = defineCollection<StoredIdentity>()({
  name: "lead_identities",
  scope: "organization",
  times: [],
  indexes: [],
  audit: "size",
})

export function identityId(organization: string, { kind, value }: Identity): string {
  return derivedUuid("lead identity", organization, kind, kind === "phone" ? personKey(value) : value)
}

export function identityIds(organization: string, { emails, phones }: Readonly<Record<"emails" | "phones", readonly string[]>>): string[] {
  return [
    ...emails.map((value) => identityId(organization, { kind: "email", value })),
    ...phones.map((value) => identityId(organization, { kind: "phone", value })),
  ]
}

export const changeKinds = ["created", "merged", "merged_into", "split", "split_off"] as const

export interface LeadChange extends Document {
  lead_id: string
  kind: (typeof changeKinds)[number]
  at: string
  /** The other lead of a merge or a split. */
  other_lead_id: string | null
  emails: string[]
  phones: string[]
  note: string
  /** Null: the service matched an address or number. */
  credential_id: string | null
}

export const ChangeCollection = defineCollection<LeadChange>()({
  name: "lead_changes",
  scope: "organization",
  times: ["at"],
  indexes: [{ fields: ["lead_id", "-at"] }],
  audit: "size",
  repairsText: true,
})

/** A row about a person. The row belongs to the address or number, and moves with it to another lead. */
export interface LeadRow extends Document {
  identity_id: string
  at: string
  dataset: string
  row_id: string
  /** The writing event. Null: written by a call. */
  execution_id: string | null
  pipeline: string | null
}

export const LeadRowCollection = defineCollection<LeadRow>()({
  name: "lead_rows",
  scope: "organization",
  times: ["at"],
  indexes: [{ fields: ["identity_id", "-at"] }],
  audit: "none",
})

export interface LeadSettings extends Document {
  default_region: string
  updated_at: string
}

export const LeadSettingsCollection = defineCollection<LeadSettings>()({
  name: "lead_settings",
  scope: "organization",
  times: ["updated_at"],
  indexes: [],
})

export function settingsId(organization: string): string {
  return derivedUuid(organization, "lead settings")
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const length = 22
const base = BigInt(digits.length)

/** Returns the 22-character reference of a lead: its UUID in base 62. Suitable for a link, a subject or a command. */
export function referenceOf(id: string): string {
  let rest = BigInt(`0x${id.replaceAll("-", "")}`)
  let text = ""
  for (let n = 0; n < length; n++) {
    text = digits.charAt(Number(rest % base)) + text
    rest /= base
  }
  return text
}

/** Returns the id of a UUID (any case) or reference, or undefined for other texts. */
export function leadIdOf(text: string): string | undefined {
  const lower = text.toLowerCase()
  if (isUuid(lower)) return lower
  if (text.length !== length) return undefined
  let value = 0n
  for (const digit of text) {
    const at = digits.indexOf(digit)
    if (at < 0) return undefined
    value = value * base + BigInt(at)
  }
  if (value >= 1n << 128n) return undefined
  const hex = value.toString(16).padStart(32, "0")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
