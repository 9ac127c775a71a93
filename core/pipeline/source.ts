// Port for stored pipelines. The pipelines plugin provides it.
import type { VerificationSecret } from "../contract/auth-mode.ts"
import { token } from "../kernel/di.ts"
import type { PipelineDocument } from "./document.ts"

/** A stored pipeline, with the secrets for verification of its events. */
export interface StoredPipeline {
  readonly id: string
  readonly organization: { readonly id: string; readonly slug: string }
  readonly slug: string
  readonly endpoint_id: string | null
  readonly revision: number
  readonly document: PipelineDocument
  /** Purpose from the document, or from a promotion. */
  readonly purpose: PipelineDocument["purpose"]
  /** Decrypted secrets. During a rotation a pipeline has more than one. */
  readonly secrets: readonly VerificationSecret[]
  /** Fields changed by an agent and not yet saved by a person. While there are any, each step waits at its gate. */
  readonly agentFields?: readonly string[]
}

export interface PipelineRef {
  readonly id: string
  /** The organization's id. */
  readonly organization: string
}

/** Source of the pipelines for the engine. */
export interface PipelineSource {
  /** Iterates over the pipelines of every organization, in any state. */
  all(): AsyncIterable<PipelineRef>
  byEndpoint(endpointId: string): Promise<StoredPipeline | undefined>
  byId(organization: string, id: string): Promise<StoredPipeline | undefined>
  bySlug(organization: string, slug: string): Promise<StoredPipeline | undefined>
  /** Returns an earlier revision, for deferred work of events accepted at that revision. */
  atRevision(organization: string, id: string, revision: number): Promise<StoredPipeline | undefined>
  /** Stores a secret from a provider's handshake. Returns false if the pipeline has another secret. */
  keepDeliveredSecret(pipeline: StoredPipeline, secret: string): Promise<boolean>
}

export const PipelineSource = token<PipelineSource>("PipelineSource")

/** Invalidation topic for changed pipelines. The key is the pipeline's id. */
export const pipelineTopic = "pipelines"
