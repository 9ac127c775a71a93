// The stored form of users and of their sessions.
import { type Document, defineCollection } from "#core"
import type { SignIn } from "#core/engine"

export interface User extends Document {
  /** Lower case. */
  email: string
  name: string
  staff: boolean
  /** Organizations with a membership of this user. The list replaces a search through every organization. */
  organization_ids: string[]
  created_at: string
}

export const UsersCollection = defineCollection<User>()({
  name: "users",
  scope: "global",
  times: ["created_at"],
  indexes: [{ fields: ["email"], unique: true }],
})

/** `signed_out`: by its own browser. `ended`: by its user from elsewhere, by an admin, or by the service. */
export type SessionEnd = "signed_out" | "ended"

/** A session that a person began. Sessions opened with a key are keys of the organizations plugin. */
export interface UserSession extends Document {
  /** The public part of the session's text. */
  key_id: string
  /** SHA-256 of the text, hex. */
  hash: string
  user_id: string
  /** The organization of calls without `X-Organization-ID`; null while the user belongs to none. */
  acts_in: string | null
  method: SignIn["method"]
  signed_in_at: string
  /** From `User-Agent`, such as "firefox, desktop". */
  device: string
  address: string
  created_at: string
  last_used_at: string | null
  expires_at: string
  revoked_at: string | null
  end: SessionEnd | null
  /** When the record itself goes. */
  kept_until: string
}

export const UserSessionsCollection = defineCollection<UserSession>()({
  name: "user_sessions",
  scope: "global",
  times: ["signed_in_at", "created_at", "last_used_at", "expires_at", "revoked_at", "kept_until"],
  indexes: [{ fields: ["key_id"], unique: true }, { fields: ["user_id", "-id"] }],
  expires: "kept_until",
})
