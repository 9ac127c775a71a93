// Secrets at rest: AES-256-GCM under the master key, the key's id beside the text, so that a key can be replaced.
import { token } from "./di.ts"

export interface Sealed {
  readonly key_id: string
  /** base64 of nonce, ciphertext and tag. */
  readonly text: string
}

export interface Vault {
  /** `context` names what the secret belongs to and is authenticated: a sealed text copied elsewhere does not open. */
  seal(plain: string, context: string): Sealed
  /** Throws `data_loss` when the text was changed, or was sealed under a key that is not here. */
  open(sealed: Sealed, context: string): string
  /** A MAC key for one purpose, derived from the master key (HKDF). */
  keyFor(purpose: string): Buffer
}

export const Vault = token<Vault>("Vault")
