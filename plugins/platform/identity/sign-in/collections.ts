// The stored form of sign-in attempts. No code, link or nonce is stored: only hashes.
import { type Document, defineCollection } from "#core"
import type { SignIn } from "#core/engine"
import type { MailedCode } from "../mailed-code.ts"

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

export const SignInAttemptsCollection = defineCollection<SignInAttempt>()({
  name: "sign_in_codes",
  scope: "global",
  times: ["created_at", "expires_at"],
  indexes: [],
  expires: "expires_at",
})

/** A used link of an operator. Its id follows from the link's. */
export interface UsedLink extends Document {
  expires_at: string
}

export const UsedLinksCollection = defineCollection<UsedLink>()({
  name: "operator_links",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
})
