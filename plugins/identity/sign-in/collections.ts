// The stored form of sign-in attempts. No code, link or nonce is stored: only hashes.
import { type Document, defineCollection } from "#core"
import type { SignIn } from "#core/engine"

/** One attempt to sign in. Its id follows from the nonce in the browser's cookie. */
export interface SignInAttempt extends Document {
  email: string
  method: SignIn["method"]
  /** HMAC of the code; null for a used link of an operator. */
  code_hash: string | null
  /** SHA-256 of the link's token. */
  link_hash: string
  wrong_tries: number
  /** Browser and address of the request, for the mail. */
  device: string
  address: string
  /** Of the first owner: the user and the name to set, and the operator's link. */
  claim: { user_id: string; name: string; link_id: string } | null
  created_at: string
  expires_at: string
}

export const SignInAttemptsCollection = defineCollection<SignInAttempt>()({
  name: "sign_in_codes",
  scope: "global",
  times: ["created_at", "expires_at"],
  indexes: [],
  expires: "expires_at",
})
