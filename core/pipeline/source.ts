// Where the engine gets pipelines from. The plugin that keeps them provides it.
import type { VerificationSecret } from "../contract/auth-mode.ts"
import { token } from "../kernel/di.ts"
import type { PipelineDocument } from "./document.ts"

/** A pipeline as it is kept, with the secrets that verify its events. */
export interface StoredPipeline {
  readonly id: string
  readonly organization: { readonly id: string; readonly slug: string }
  readonly slug: string
  readonly endpoint_id: string | null
  readonly revision: number
  readonly document: PipelineDocument
  /** What it is for: as its document asks, or as it was promoted to. */
  readonly purpose: PipelineDocument["purpose"]
  /** Opened; more than one while an old one is being rotated out. */
  readonly secrets: readonly VerificationSecret[]
  /** Fields that an agent changed and no person has saved since. While there are any, each step waits at its gate. */
  readonly agentFields?: readonly string[]
}

export interface PipelineRef {
  readonly id: string
  /** The organization's id. */
  readonly organization: string
}

/** Where the engine finds the pipelines that it runs. */
export interface PipelineSource {
  /** Of every organization, in any state. */
  all(): AsyncIterable<PipelineRef>
  byEndpoint(endpointId: string): Promise<StoredPipeline | undefined>
  byId(organization: string, id: string): Promise<StoredPipeline | undefined>
  bySlug(organization: string, slug: string): Promise<StoredPipeline | undefined>
  /** As it was at an earlier revision, for deferred work of events that it took then. */
  atRevision(organization: string, id: string, revision: number): Promise<StoredPipeline | undefined>
  /** Keeps a secret from a provider's handshake. Returns false if the pipeline has another secret. */
  keepDeliveredSecret(pipeline: StoredPipeline, secret: string): Promise<boolean>
}

export const PipelineSource = token<PipelineSource>("PipelineSource")

/** Invalidation topic announced, with the pipeline's id as key, whenever a pipeline changes. */
export const pipelineTopic = "pipelines"
