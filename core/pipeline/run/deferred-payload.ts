// Payload of the job for an execution's deferred steps, and the job's services.
import { z } from "zod"
import type { Json } from "../../contract/collection.ts"
import { AnyJson } from "../../contract/fields.ts"
import type { Gatekeeper } from "../../contract/gate.ts"
import { sealContext } from "../../contract/job.ts"
import { token } from "../../kernel/di.ts"
import { derivedUuid } from "../../kernel/ids.ts"
import { namesSecret, redactSecrets } from "../../kernel/secret-names.ts"
import type { Vault } from "../../kernel/vault.ts"
import type { JournalEntry } from "../journal/entry.ts"
import type { Execution, Runnable } from "./execution.ts"
import type { StepServices } from "./step.ts"
import type { StepSlots } from "./step-slots.ts"

export const DeferredPayload = z.object({
  organization: z.string(),
  pipeline_id: z.string(),
  revision: z.number(),
  execution_id: z.string(),
  origin_id: z.string(),
  identity: z.string(),
  received_at: z.string(),
  data_since: z.string().optional(),
  event: AnyJson,
  payload: AnyJson,
  query: AnyJson,
  envelope: z.record(z.string(), AnyJson),
  stamp: z.record(z.string(), AnyJson),
  depth: z.number(),
  results: z.record(z.string(), AnyJson),
  /** The sealed clear text, if the contents name a secret. The fields above are then redacted. */
  sealed: z.object({ key_id: z.string(), text: z.string() }).optional(),
})
export type DeferredPayload = z.infer<typeof DeferredPayload>

/** Services of the job. */
export interface DeferredServices extends StepServices {
  readonly slots: StepSlots
  readonly vault: Vault
  /** Returns the keeper of approvals for gated steps. Returns undefined if no plugin provides approvals. */
  keeper(): Gatekeeper | undefined
  /** Returns the pipeline at that revision. Returns null if it was deleted or no longer compiles. */
  pipelineAt(organization: string, pipelineId: string, revision: number): Promise<Runnable | null>
  /** Announces a changed status of an entry. */
  entryChanged(entry: JournalEntry): void
}

export const DeferredServices = token<DeferredServices>("DeferredServices")

/** Content of an event. The other fields identify the event. */
type Contents = Pick<DeferredPayload, "event" | "payload" | "query" | "results">

/** Builds the payload. A dead job outlives the event's payload and is visible, so contents with a secret's name are sealed. */
export function deferredPayload(execution: Execution, revision: number, vault: Vault): DeferredPayload {
  const { input, scope } = execution
  const contents: Contents = {
    event: input.event,
    payload: input.graph.reads.payload ? input.payload : null,
    query: input.graph.reads.query ? input.query : null,
    results: scope.steps as Record<string, Json>,
  }
  const payload = {
    organization: input.stored.organization.id,
    pipeline_id: input.stored.id,
    revision,
    execution_id: input.executionId,
    origin_id: input.originId,
    identity: input.identity,
    received_at: input.receivedAt,
    ...(input.dataSince === undefined ? {} : { data_since: input.dataSince }),
    envelope: input.envelope as unknown as Record<string, Json>,
    stamp: { ...input.stamp },
    depth: input.depth,
  }
  if (!namesSecret(contents)) return { ...payload, ...contents }
  const sealed = vault.seal(JSON.stringify(contents), sealContext(deferredJobId(input.executionId)))
  return { ...payload, ...redactSecrets(contents), sealed }
}

/** Returns the payload with the sealed contents. Throws `data_loss` if the key is missing. */
export function openedPayload(payload: DeferredPayload, vault: Vault): DeferredPayload {
  const { sealed } = payload
  if (!sealed) return payload
  const text = vault.open(sealed, sealContext(deferredJobId(payload.execution_id)))
  return { ...payload, ...(JSON.parse(text) as Contents) }
}

/** Returns the id of an execution's job. It is the same on every call. */
export function deferredJobId(executionId: string): string {
  return derivedUuid(executionId, "deferred")
}
