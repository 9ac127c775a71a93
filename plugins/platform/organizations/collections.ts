// The stored form of organizations, memberships and keys.
import { type Collection, type Document, defineCollection, type Sealed, type StagedCollection, timestamp } from "#core"
import type { Role } from "#core/engine"
import type { KeyKind } from "../identity/index.ts"

export interface Organization extends Document {
  slug: string
  name: string
  /** IANA name; what is scheduled for it at times of day is scheduled in this zone. */
  time_zone: string
  /** Members connect private integrations. Admins always do. */
  members_may_connect: boolean
  /** Notices to the admins go to this address; null: to each admin. */
  notification_address: string | null
  /** Nobody decides own requests for approval. Null: while two or more admins exist. */
  require_second_person: boolean | null
  created_at: string
  /** The user who created it; null for an organization of the first start, of the operator, and of earlier versions. */
  created_by: string | null
  /** Since an owner archived it; null: it is in use. */
  archived: { at: string; by: string | null } | null
  /** Since the operator suspended it, with the reason that its members read. */
  suspended: { at: string; note: string } | null
  /** The organization that manages this one, the most its keys may do here, and how many keys it made here (null: not counted yet); null: nobody does. */
  managed_by: { id: string; role: Role; since: string; made_keys: number | null } | null
  /** Counts removals and demotions of owners; absent before the first. */
  owners_revision?: number
}

/** Fields of a new organization. A document of an earlier version lacks some. */
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

/** A slug that an organization has or had. It is never removed, so no other organization gets it. */
export interface OrganizationSlug extends Document {
  owner_id: string
  created_at: string
}

export interface Membership extends Document {
  user_id: string
  role: Role
  created_at: string
  /** Keys that the member made here; absent before the first. */
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
  /** Of a token; null: every scope that the role allows. */
  scopes: string[] | null
  manager: boolean
  /** Maker; null for service principals. */
  user_id: string | null
  /** Id of the key, or of the session, that made this one; null for a first key, and where it is not known. */
  created_by: string | null
  /** Of a session: public part of the key that signed in, whose end ends it. */
  signed_in_with?: string
  /** The managing organization whose credential made it here, directly or through other keys. It ends with that management. */
  manager_id: string | null
  /** Its first credential, and the users and managers that it descends from (origins.ts). Absent in older keys. */
  origins?: string[]
  created_at: string
  expires_at: string | null
  last_used_at: string | null
  revoked_at: string | null
}

/** Where a key is, by its public part: the one thing to be known before the organization is. */
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

/** An offer to manage an organization; any owner of one takes it by its code, from whose hash `id` follows. */
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

/** What the private half of a signing key is sealed with. */
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

/** Stages one more. Returns the seconds until the next day if the limit is reached. The last place of a day has one winner. */
export async function countToday({ now, limit, idOf, stored, staged }: DayLimit): Promise<number | undefined> {
  const day = Math.floor(now / dayMs)
  const id = idOf(String(day))
  const count = (await stored.get(id))?.count
  if ((count ?? 0) >= limit) return Math.ceil(((day + 1) * dayMs - now) / 1_000)
  if (count === undefined) staged.insert({ id, count: 0, expires_at: timestamp((day + 2) * dayMs) }, { ifPresent: "keep" })
  staged.update(id, { $inc: { count: 1 } }, { where: { count: { $lt: limit } } })
  return undefined
}
