// Generates verification secrets, stores them sealed, and opens them for the engine. Plain text appears once, in the response
// that created it.
import { randomBytes } from "node:crypto"
import { AppError, type Ids, sameSecret, timestamp, type Vault, type VerificationSecret } from "#core"
import { type KeptSecret, secretContext } from "./collections.ts"

/** Returns `whsec_` and 32 random bytes in base64, the format of Standard Webhooks. */
export function generateSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`
}

export interface SecretKeeper {
  keep(pipelineId: string, plain: string, now: number): KeptSecret
  open(pipelineId: string, kept: readonly KeptSecret[], now: number): VerificationSecret[]
  /** Compares secrets in constant time. Returns false if the stored secret cannot be decrypted. */
  holds(pipelineId: string, kept: KeptSecret, plain: string): boolean
}

export function secretKeeper(vault: Vault, ids: Ids): SecretKeeper {
  return {
    keep: (pipelineId, plain, now) => ({
      id: ids.uuid(),
      sealed: vault.seal(plain, secretContext(pipelineId)),
      ends_at: null,
      created_at: timestamp(now),
    }),
    open: (pipelineId, kept, now) =>
      kept
        .filter((secret) => secret.ends_at === null || Date.parse(secret.ends_at) > now)
        .map(({ id, sealed, ends_at }) => ({
          id,
          value: vault.open(sealed, secretContext(pipelineId)),
          ...(ends_at === null ? {} : { endsAt: Date.parse(ends_at) }),
        })),
    holds(pipelineId, { sealed }, plain) {
      try {
        return sameSecret(plain, vault.open(sealed, secretContext(pipelineId)))
      } catch (error) {
        if (error instanceof AppError && error.code === "data_loss") return false
        throw error
      }
    },
  }
}

/** Checks a secret in the field `secret` of the call. Auth modes report the place in a document; this function corrects it. */
export function checkGiven(secret: string, check: (secret: string) => void): void {
  try {
    check(secret)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, message, details } = error
    throw AppError.from({ code, message, details: { ...details, fields: [{ path: "secret", message }] } })
  }
}
