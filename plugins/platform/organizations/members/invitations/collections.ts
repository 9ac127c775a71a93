// Stored invitations of members. Only the hash of a code is stored.
import { type Document, defineCollection } from "#core"
import type { Role } from "#core/engine"
import type { DayCount } from "../../collections.ts"

/** One invitation for each address of an organization. Its id follows from the two. */
export interface MemberInvitation extends Document {
  /** Normalized by `normalAddress`. */
  email: string
  role: Role
  /** SHA-256 of the valid code, hex. A new code replaces it. */
  hash: string
  /** The inviter saw the link, so the link does not prove the address. */
  shown: boolean
  invited_by: { credential_id: string; user_id: string | null }
  created_at: string
  /** Creation time of the valid code. */
  sent_at: string
  expires_at: string
}

export const MemberInvitationsCollection = defineCollection<MemberInvitation>()({
  name: "member_invitations",
  scope: "organization",
  times: ["created_at", "sent_at", "expires_at"],
  indexes: [{ fields: ["-created_at"] }],
  expires: "expires_at",
})

/**
 * Finds the invitations of an address in every organization. It shares the id of the invitation. The invitation is authoritative.
 */
export interface InvitedAddress extends Document {
  email: string
  /** The organization of the invitation. */
  owner_id: string
  expires_at: string
}

export const InvitedAddressesCollection = defineCollection<InvitedAddress>()({
  name: "invited_addresses",
  scope: "global",
  times: ["expires_at"],
  indexes: [{ fields: ["email"] }],
  expires: "expires_at",
  audit: "none",
})

/** Mails of invitations in one day (UTC). */
export const InvitationDaysCollection = defineCollection<DayCount>()({
  name: "member_invitation_days",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})
