// What the area keeps: pipelines, and each revision of a document, since deferred work runs as it was when its event came.
import { randomBytes } from "node:crypto"
import { type Document, defineCollection, type Json, type Sealed } from "#core"
import type { PipelineDocument } from "#core/engine"

export interface KeptSecret {
  id: string
  sealed: Sealed
  /** RFC 3339; null while it has no end. */
  ends_at: string | null
  created_at: string
}

export interface AppliedFile {
  path: string
  digest: string
  applied_revision: number
  /** Whether the variable of its secret was not set, so that it has none of its own yet. */
  unset: boolean
  /** The id of the secret that it had then: another is one that was rotated on the server since. null for none known. */
  applied_secret: string | null
}

export interface PipelineRecord extends Document {
  slug: string
  name: string
  state: PipelineDocument["state"]
  source_kind: PipelineDocument["source_kind"]
  /** As it is; the document keeps what was asked for, so that a promotion ends with the last write. */
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
  /** The file it came from, as it was last applied from it; null for pipelines made by callers. */
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

/** What a pipeline's secrets are sealed with. */
export function secretContext(pipelineId: string): string {
  return `event_pipelines/${pipelineId}/secret`
}

/** Whose an endpoint is: looked up before anything of the organization is known. */
export interface EndpointRecord extends Document {
  organization: string
  organization_slug: string
  pipeline_id: string
}

export const Endpoints = defineCollection<EndpointRecord>()({ name: "inbound_endpoints", scope: "global", times: [], indexes: [] })

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const endpointLength = 22

/** Returns `in_` and 22 base62 characters (131 bits): nobody can guess an address. */
export function newEndpointId(): string {
  let id = "in_"
  while (id.length < 3 + endpointLength) {
    // 248 is the largest multiple of 62 in a byte: larger bytes would favour some letters.
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
