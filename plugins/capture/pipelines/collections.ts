// Collections of pipelines and their revisions. Deferred work runs with the revision of its event.
import { randomBytes } from "node:crypto"
import { type Document, defineCollection, type Json, type Sealed } from "#core"
import type { PipelineDocument } from "#core/engine"

export interface KeptSecret {
  id: string
  sealed: Sealed
  /** RFC 3339, or null without an end. */
  ends_at: string | null
  created_at: string
}

export interface AppliedFile {
  path: string
  digest: string
  applied_revision: number
  /** True if the variable of the secret was unset, so the pipeline has only a generated secret. */
  unset: boolean
  /** ID of the secret at the last apply, or null if unknown. Another ID means a rotation on the server. */
  applied_secret: string | null
}

export interface PipelineRecord extends Document {
  slug: string
  name: string
  state: PipelineDocument["state"]
  source_kind: PipelineDocument["source_kind"]
  /** The effective purpose. The document holds the requested purpose, so a promotion ends with the last write step. */
  purpose: PipelineDocument["purpose"]
  endpoint_id: string | null
  owner_artifact_id: string | null
  /** Without the secret. */
  document: PipelineDocument
  secrets: KeptSecret[]
  write_target_datasets: string[]
  /** Pairs of dataset and key column, for the split-leads warning. */
  upserts: { dataset: string; key: string }[]
  revision: number
  /** Fields that an agent changed and no person has saved since; see agent-changes.ts. */
  agent_fields?: string[]
  /** The source file at its last apply. null for pipelines created by callers. */
  file: AppliedFile | null
  created_at: string
  updated_at: string
}

export const Pipelines = defineCollection<PipelineRecord>()({
  name: "event_pipelines",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [{ fields: ["slug"], unique: true }, { fields: ["state"] }, { fields: ["purpose"] }, { fields: ["owner_artifact_id"] }],
  sealed: ({ id, secrets }) => secrets.map(({ sealed }, at) => ({ path: `secrets.${at}.sealed`, sealed, context: secretContext(id) })),
})

/** Returns the sealing context of a pipeline's secrets. */
export function secretContext(pipelineId: string): string {
  return `event_pipelines/${pipelineId}/secret`
}

/** Maps an endpoint to its organization, for lookups before the organization is known. */
export interface EndpointRecord extends Document {
  organization: string
  organization_slug: string
  pipeline_id: string
}

export const Endpoints = defineCollection<EndpointRecord>()({ name: "inbound_endpoints", scope: "global", times: [], indexes: [] })

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const endpointLength = 22

/** Returns `in_` and 22 base62 characters (131 bits). The address cannot be guessed. */
export function newEndpointId(): string {
  let id = "in_"
  while (id.length < 3 + endpointLength) {
    // 248 is the largest multiple of 62 in a byte. Larger bytes would favour some letters.
    for (const byte of randomBytes(endpointLength)) if (byte < 248 && id.length < 3 + endpointLength) id += alphabet[byte % 62]
  }
  return id
}

/** `id` is `<pipeline id>:<revision>`. */
export interface RevisionRecord extends Document {
  pipeline_id: string
  revision: number
  document: Json
  agent_fields?: string[]
  at: string
}

export const Revisions = defineCollection<RevisionRecord>()({
  name: "event_pipeline_revisions",
  scope: "organization",
  times: ["at"],
  indexes: [{ fields: ["pipeline_id", "revision"] }],
})
