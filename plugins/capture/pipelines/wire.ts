// The pipeline resource in the API: flat, without secrets.
import { z } from "zod"
import { AnyJson, Timestamp, Uuid } from "#core"
import { acceptsFiles, documentFields, PipelineState, Purpose, redacted, SourceKind } from "#core/engine"
import type { PipelineRecord } from "./collections.ts"

const ActionWire = z.record(z.string(), AnyJson)

export const EventPipeline = z
  .object({
    id: Uuid,
    // Responses are not validated again: documents saved by an earlier version are returned unchanged.
    slug: z.string().describe("Stable identifier."),
    name: z.string(),
    state: PipelineState,
    source_kind: SourceKind,
    auth_mode: z.string(),
    auth_config: z.record(z.string(), AnyJson).describe("The stored secret is redacted."),
    request_schema: z.union([z.record(z.string(), AnyJson), z.boolean()]).nullable(),
    transform_js: z.string().nullable(),
    pipeline: z.array(ActionWire),
    handlers: z.record(z.string(), ActionWire),
    dedupe: z.object({ key: z.string(), window: z.union([z.string(), z.number()]) }).nullable(),
    purpose: Purpose,
    accept_files: z.boolean().describe("Whether forms may have files."),
    acknowledged_warnings: z.array(z.string()),
    owner_artifact_id: z.string().nullable(),
    write_target_datasets: z.array(z.string()).describe("Fully qualified: <org-slug>.<dataset-slug>."),
    endpoint_id: z.string().nullable(),
    inbound_url: z.string().nullable().describe("Where events are POSTed; null for internal pipelines."),
    revision: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "EventPipeline" })
export type EventPipeline = z.infer<typeof EventPipeline>

export const Warnings = z.array(z.string()).describe("Warnings that did not prevent the save.")
export const Secret = z.string().optional().describe("Plaintext verification secret; shown once.")

export function toWire(record: PipelineRecord, publicUrl: string): EventPipeline {
  const { document } = record
  return {
    id: record.id,
    slug: record.slug,
    name: record.name,
    state: record.state,
    source_kind: record.source_kind,
    auth_mode: document.auth_mode,
    auth_config: shownConfig(record),
    request_schema: document.request_schema,
    transform_js: document.transform_js,
    pipeline: document.pipeline as Record<string, z.core.util.JSONType>[],
    handlers: document.handlers as Record<string, Record<string, z.core.util.JSONType>>,
    dedupe: document.dedupe,
    purpose: record.purpose,
    accept_files: acceptsFiles(document),
    acknowledged_warnings: document.acknowledged_warnings ?? [],
    owner_artifact_id: record.owner_artifact_id,
    write_target_datasets: record.write_target_datasets,
    endpoint_id: record.endpoint_id,
    inbound_url: record.endpoint_id === null ? null : `${publicUrl}/v1/inbound/${record.endpoint_id}`,
    revision: record.revision,
    created_at: record.created_at,
    updated_at: record.updated_at,
  }
}

/** Auth mode settings for the sender and the operator only, besides the secret. */
const secretSettings = ["verify_token"] as const

/** Returns the auth mode's settings. Redacts the values that only the sender and the operator should see. */
export function shownConfig({
  document,
  secrets,
}: Pick<PipelineRecord, "document" | "secrets">): PipelineRecord["document"]["auth_config"] {
  const shown = { ...document.auth_config }
  for (const name of secretSettings) if (shown[name] !== undefined) shown[name] = redacted
  return secrets.length > 0 ? { ...shown, secret: redacted } : shown
}

/** Body fields of create, with the names of the document. */
export const createFields = documentFields

/** Body fields of update. They have no defaults, so absent fields do not change. */
export const changeFields = {
  name: createFields.name.optional(),
  state: createFields.state.unwrap().optional(),
  source_kind: createFields.source_kind.unwrap().optional(),
  auth_mode: createFields.auth_mode.unwrap().optional(),
  auth_config: createFields.auth_config.unwrap().optional(),
  request_schema: createFields.request_schema.unwrap().optional(),
  transform_js: createFields.transform_js.unwrap().optional(),
  pipeline: createFields.pipeline.unwrap().optional(),
  handlers: createFields.handlers.unwrap().optional(),
  dedupe: createFields.dedupe.unwrap().optional(),
  purpose: createFields.purpose.unwrap().optional(),
  owner_artifact_id: createFields.owner_artifact_id.unwrap().optional(),
  acknowledged_warnings: createFields.acknowledged_warnings,
  accept_files: createFields.accept_files,
}

/** Fields in responses that an update cannot set. */
export const readOnlyFields = ["id", "endpoint_id", "inbound_url", "revision", "write_target_datasets", "created_at", "updated_at"] as const
