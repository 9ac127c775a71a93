// Leads, the addresses and numbers by which they are known, what was done to them by hand, and which rows are about them.
import { type Document, defineCollection, derivedUuid, isUuid } from "#core"
import { personKey } from "../conversations/index.ts"
import type { Identity } from "./identity.ts"

export interface StoredLead extends Document {
  name: string
  emails: string[]
  phones: string[]
  /** IANA; absent or empty where it is not known. */
  time_zone?: string
  /** The lead that this one is part of; null: it stands for itself. */
  merged_into: string | null
  /** Leads that a row named together with this one. */
  possible_duplicates: string[]
  /** By what it was first seen, and when; absent of one that was split off, or whose history tells it. */
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

/** One address or number; its id follows from it, however a number is written, so that it belongs to one lead. */
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
  /** Null: the service, by an address or number. */
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

/** A row that was written about somebody. It belongs to the address or number, and goes with that to another lead. */
export interface LeadRow extends Document {
  identity_id: string
  at: string
  dataset: string
  row_id: string
  /** Of the event that wrote it; null: a call did. */
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

/** The 22-character reference of a lead: its UUID in base 62, so that it stands in a link, a subject or a command. */
export function referenceOf(id: string): string {
  let rest = BigInt(`0x${id.replaceAll("-", "")}`)
  let text = ""
  for (let n = 0; n < length; n++) {
    text = digits.charAt(Number(rest % base)) + text
    rest /= base
  }
  return text
}

/** The id that a UUID, in either case, or a reference stands for; undefined for other texts. */
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
