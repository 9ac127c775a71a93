// The use of a pipeline's secrets as operations ask for it.
import { type Clock, type Store, token } from "#core"
import type { PipelineRecord } from "../collections.ts"
import { SecretUses } from "./collection.ts"
import type { SecretUseCounter } from "./counter.ts"
import { evidenceOf, type SecretEvidence } from "./evidence.ts"

export interface SecretEvidences {
  of(organization: string, pipeline: Pick<PipelineRecord, "id" | "secrets">): Promise<SecretEvidence[]>
}

export const SecretEvidences = token<SecretEvidences>("SecretEvidences")

interface EvidenceDeps {
  readonly store: Store
  readonly clock: Clock
  readonly counter: SecretUseCounter
}

export function secretEvidences({ store, clock, counter }: EvidenceDeps): SecretEvidences {
  return {
    async of(organization, { id, secrets }) {
      await counter.flush()
      const uses = await store.open(SecretUses, organization).find({ pipeline_id: id }, { limit: 1_000 })
      return evidenceOf(secrets, new Map(uses.map((use) => [use.id, use])), clock.now())
    },
  }
}
