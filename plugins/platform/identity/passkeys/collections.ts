// Stored passkeys and challenges. A passkey is a public key: the private key stays with the person.
import { type Document, defineCollection, derivedUuid } from "#core"

export interface Passkey extends Document {
  user_id: string
  name: string
  /** Base64url, from the authenticator. */
  credential_id: string
  /** COSE key, base64url. */
  public_key: string
  /** Signatures of the authenticator; always 0 for authenticators without a counter. */
  counter: number
  /** Transports to the authenticator, such as "internal" or "usb". */
  transports: string[]
  /** `multi_device`: the authenticator copies the passkey to other devices of the person. */
  device_type: "single_device" | "multi_device"
  backed_up: boolean
  /** Model of the authenticator; zeros if the authenticator hides it. */
  aaguid: string
  created_at: string
  last_used_at: string | null
}

export const PasskeysCollection = defineCollection<Passkey>()({
  name: "passkeys",
  scope: "global",
  times: ["created_at", "last_used_at"],
  indexes: [{ fields: ["credential_id"], unique: true }, { fields: ["user_id", "-id"] }],
})

/** A challenge for one response of one browser. Its id follows from its purpose and its holder. */
export interface PasskeyChallenge extends Document {
  challenge: string
  expires_at: string
}

export const PasskeyChallengesCollection = defineCollection<PasskeyChallenge>()({
  name: "passkey_challenges",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
})

/** A credential belongs to one user. */
export function passkeyId(credential: string): string {
  return derivedUuid("passkey", credential)
}
