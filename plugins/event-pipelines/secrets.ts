// Verification secrets: made, kept sealed, opened for the engine. Plain text leaves once, in the answer that made it.
import { randomBytes } from "node:crypto"
import { type Ids, type LiveSecret, timestamp, type Vault } from "#core"
import type { KeptSecret } from "./collections.ts"

/** `whsec_` and 32 random bytes in base64, as Standard Webhooks writes secrets. */
export function generateSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`
}

export interface SecretKeeper {
  keep(pipelineId: string, plain: string, now: number): KeptSecret
  open(pipelineId: string, kept: readonly KeptSecret[], now: number): LiveSecret[]
}

export function secretKeeper(vault: Vault, ids: Ids): SecretKeeper {
  const context = (pipelineId: string) => `event_pipelines/${pipelineId}/secret`
  return {
    keep: (pipelineId, plain, now) => ({
      id: ids.uuid(),
      sealed: vault.seal(plain, context(pipelineId)),
      ends_at: null,
      created_at: timestamp(now),
    }),
    open: (pipelineId, kept, now) =>
      kept
        .filter((secret) => secret.ends_at === null || Date.parse(secret.ends_at) > now)
        .map(({ id, sealed, ends_at }) => ({
          id,
          value: vault.open(sealed, context(pipelineId)),
          ...(ends_at === null ? {} : { endsAt: Date.parse(ends_at) }),
        })),
  }
}
