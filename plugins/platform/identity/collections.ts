// Stored users and their sessions.
import { type Document, defineCollection, derivedUuid } from "#core"
import type { SignIn } from "#core/engine"
import type { MailedCode } from "./mailed-code.ts"

/** One attempt to sign in. Its id follows from the nonce in the browser's cookie. */
export interface SignInAttempt extends MailedCode {
  email: string
  method: SignIn["method"]
  /** SHA-256 of the link's token. */
  link_hash: string
  /** Browser and address of the request, for the mail. */
  device: string
  address: string
  /** Of the first owner: the user and the name to set, and the operator's link. */
  claim: { user_id: string; name: string; link_id: string } | null
}

/** The stored form of sign-in attempts. No code, link or nonce is stored: only hashes. */
export const SignInAttemptsCollection = defineCollection<SignInAttempt>()({
  name: "sign_in_codes",
  scope: "global",
  times: ["created_at", "expires_at"],
  indexes: [],
  expires: "expires_at",
})

/** A used link of an operator. Its id follows from the link's. */
interface UsedLink extends Document {
  expires_at: string
}

export const UsedLinksCollection = defineCollection<UsedLink>()({
  name: "operator_links",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
})

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

/** A session begun by a person. Sessions opened with a key are keys of the organizations plugin. */
export interface UserSession extends Document {
  /** The public part of the session's text. */
  key_id: string
  /** SHA-256 of the text, hex. */
  hash: string
  user_id: string
  /** The organization of calls without `X-Organization-ID`. Null without a membership. */
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
  /** Removal time of the record. */
  kept_until: string
}

export const UserSessionsCollection = defineCollection<UserSession>()({
  name: "user_sessions",
  scope: "global",
  times: ["signed_in_at", "created_at", "last_used_at", "expires_at", "revoked_at", "kept_until"],
  indexes: [{ fields: ["key_id"], unique: true }, { fields: ["user_id", "-id"] }],
  expires: "kept_until",
})

/** A pending change; its id follows from the user's. */
export interface AddressChange extends MailedCode {
  email: string
}

/** The stored form of changes of an address. */
export const AddressChangesCollection = defineCollection<AddressChange>()({
  name: "address_changes",
  scope: "global",
  times: ["created_at", "expires_at"],
  indexes: [],
  expires: "expires_at",
})

/** A user has one pending change. */
export function changeId(user: string): string {
  return derivedUuid("address change", user)
}
