// Stored organizations, memberships and keys.
import { type Collection, type Document, defineCollection, type Sealed, type StagedCollection, timestamp } from "#core"
import type { Role } from "#core/engine"
import type { KeyKind } from "../identity/index.ts"

export interface Organization extends Document {
  slug: string
  name: string
  /** IANA name. Schedules at times of day use this zone. */
  time_zone: string
  /** True: members connect private integrations. Admins always may. */
  members_may_connect: boolean
  /** Notices to the admins go to this address; null: to each admin. */
  notification_address: string | null
  /** True: own requests for approval need another decider. Null: true while two or more admins exist. */
  require_second_person: boolean | null
  created_at: string
  /** The creating user. Null for an organization of the first start, of the operator, and of earlier versions. */
  created_by: string | null
  /** Archival by an owner; null: in use. */
  archived: { at: string; by: string | null } | null
  /** Suspension by the operator, with the reason for its members. */
  suspended: { at: string; note: string } | null
  /**
   * The managing organization, the highest role of its keys here, and the number of keys created here (null: not counted yet).
   * Null without a manager.
   */
  managed_by: { id: string; role: Role; since: string; made_keys: number | null } | null
  /** Counts removals and demotions of owners; absent before the first. */
  owners_revision?: number
}

/** Default fields of a new organization. Documents of earlier versions lack some of them. */
export const newOrganization = {
  time_zone: "UTC",
  members_may_connect: true,
  notification_address: null,
  require_second_person: null,
  created_by: null,
  archived: null,
  suspended: null,
  managed_by: null,
} as const

/** A current or former slug of an organization. It is never removed, so no other organization gets it. */
export interface OrganizationSlug extends Document {
  owner_id: string
  created_at: string
}

export interface Membership extends Document {
  user_id: string
  role: Role
  created_at: string
  /** Number of keys created here by the member; absent before the first. */
  made_keys?: number
}

export interface StoredKey extends Document {
  kind: KeyKind
  /** The public part of the key. */
  key_id: string
  /** SHA-256 of the whole key, hex. */
  hash: string
  name: string
  role: Role
  /** Scopes of a token; null: every scope of the role. */
  scopes: string[] | null
  manager: boolean
  /** Maker; null for service principals. */
  user_id: string | null
  /** Id of the creating key or session. Null for a first key, or if unknown. */
  created_by: string | null
  /** For a session: public part of the key used for the sign-in. The session ends with the key. */
  signed_in_with?: string
  /** The managing organization of the creating credential, directly or through other keys. The key ends with the management. */
  manager_id: string | null
  /** Its first credential, and the users and managers in its ancestry (origins.ts). Absent in older keys. */
  origins?: string[]
  created_at: string
  expires_at: string | null
  last_used_at: string | null
  revoked_at: string | null
}

/** Maps a key's public part to its organization. Needed before the organization is known. */
export interface KeyOwner extends Document {
  owner_id: string
  stored_key_id: string
}

/** A signing key of the service, its private half sealed. */
export interface SigningKey extends Document {
  kid: string
  public_jwk: { kty: string; crv: string; x: string }
  private_jwk: Sealed
  created_at: string
}

export const OrganizationsCollection = defineCollection<Organization>()({
  name: "organizations",
  scope: "global",
  times: ["created_at", "managed_by.since", "archived.at", "suspended.at"],
  indexes: [
    { fields: ["slug"], unique: true },
    { fields: ["managed_by.id", "slug"], sparse: true },
    { fields: ["archived.at"], sparse: true },
    { fields: ["suspended.at"], sparse: true },
    { fields: ["created_at"] },
  ],
  restore: ({ managed_by, ...organization }) => ({
    ...newOrganization,
    ...organization,
    managed_by: managed_by && { ...managed_by, made_keys: managed_by.made_keys ?? null },
  }),
})

/** By slug. */
export const OrganizationSlugsCollection = defineCollection<OrganizationSlug>()({
  name: "organization_slugs",
  scope: "global",
  times: ["created_at"],
  indexes: [],
})

export const MembershipsCollection = defineCollection<Membership>()({
  name: "memberships",
  scope: "organization",
  times: ["created_at"],
  indexes: [{ fields: ["user_id"], unique: true }],
})

export const KeysCollection = defineCollection<StoredKey>()({
  name: "api_keys",
  scope: "organization",
  times: ["created_at", "expires_at", "last_used_at", "revoked_at"],
  indexes: [{ fields: ["key_id"], unique: true }, { fields: ["user_id"] }],
  restore: (key) => ({ ...key, manager_id: key.manager_id ?? null, created_by: key.created_by ?? null }),
})

/** An offer to manage an organization. Any owner can accept it by its code. `id` follows from the hash of the code. */
export interface Invitation extends Document {
  manager_id: string
  role: Role
  note: string
  created_at: string
  expires_at: string
}

export const InvitationsCollection = defineCollection<Invitation>()({
  name: "management_invitations",
  scope: "global",
  times: ["created_at", "expires_at"],
  indexes: [{ fields: ["manager_id", "-id"] }],
  expires: "expires_at",
})

export const KeyOwnersCollection = defineCollection<KeyOwner>()({ name: "api_key_owners", scope: "global", times: [], indexes: [] })

export const SigningKeysCollection = defineCollection<SigningKey>()({
  name: "signing_keys",
  scope: "global",
  times: ["created_at"],
  indexes: [],
  sealed: ({ kid, private_jwk }) => [{ path: "private_jwk", sealed: private_jwk, context: signingKeyContext(kid) }],
})

/** Seal context of a signing key's private half. */
export function signingKeyContext(kid: string): string {
  return `signing key ${kid}`
}

// Counts of one day (UTC), such as the invitations of an organization. Each count is a stored document, so a limit is exact on
// several nodes.

export interface DayCount extends Document {
  count: number
  expires_at: string
}

interface DayLimit {
  readonly now: number
  readonly limit: number
  idOf(day: string): string
  readonly stored: Collection<DayCount>
  readonly staged: StagedCollection<DayCount>
}

const dayMs = 86_400_000

/** Stages an increment. If the limit is reached, returns the seconds until the next day. The last place of a day has one winner. */
export async function countToday({ now, limit, idOf, stored, staged }: DayLimit): Promise<number | undefined> {
  const day = Math.floor(now / dayMs)
  const id = idOf(String(day))
  const count = (await stored.get(id))?.count
  if ((count ?? 0) >= limit) return Math.ceil(((day + 1) * dayMs - now) / 1_000)
  if (count === undefined) staged.insert({ id, count: 0, expires_at: timestamp((day + 2) * dayMs) }, { ifPresent: "keep" })
  staged.update(id, { $inc: { count: 1 } }, { where: { count: { $lt: limit } } })
  return undefined
}
