// Two documents field by field: what an apply would change, and what was changed on the server since the last one.
import { isDeepStrictEqual } from "node:util"
import { z } from "zod"
import { AnyJson } from "#core"
import type { PipelineDocument } from "#core/engine"

const appliedFields = [
  "name",
  "state",
  "request_schema",
  "transform_js",
  "pipeline",
  "handlers",
  "dedupe",
  "purpose",
  "owner_artifact_id",
] as const satisfies readonly (keyof PipelineDocument)[]

export const FieldChange = z.object({ field: z.string(), before: AnyJson, after: AnyJson })
export type FieldChange = z.infer<typeof FieldChange>

export function fieldChanges(before: PipelineDocument, after: PipelineDocument): FieldChange[] {
  return appliedFields
    .filter((field) => !isDeepStrictEqual(plain(before[field]), plain(after[field])))
    .map((field) => ({ field, before: plain(before[field]), after: plain(after[field]) }))
}

/** As in JSON: an undefined field is absent. */
function plain(value: unknown): z.core.util.JSONType {
  return JSON.parse(JSON.stringify(value ?? null)) as z.core.util.JSONType
}
