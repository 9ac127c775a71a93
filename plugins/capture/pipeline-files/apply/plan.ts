// Plans the effect of a set of documents: created, changed (field by field), disabled, unchanged and refused pipelines. The plan
// also lists changes on the server since the last apply.

import { isDeepStrictEqual } from "node:util"
import { z } from "zod"
import { AnyJson, AppError, type Caller, defineExtensionPoint, type Store } from "#core"
import type { PipelineDocument, PipelineEngine } from "#core/engine"
import { type PipelineRecord, Pipelines, Revisions, refuseFixed, type SecretKeeper } from "../../pipelines/index.ts"
import { type GivenDocument, type ReadDocument, readGiven } from "./given.ts"
import { type Standing, secretChange, standingOf, unsetWarnings, wanted } from "./named-secret.ts"

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

/** A changed field of two documents: by an apply, or on the server since the last apply. */
export const FieldChange = z.object({ field: z.string(), before: AnyJson, after: AnyJson })
export type FieldChange = z.infer<typeof FieldChange>

function fieldChanges(before: PipelineDocument, after: PipelineDocument): FieldChange[] {
  return appliedFields
    .filter((field) => !isDeepStrictEqual(plain(before[field]), plain(after[field])))
    .map((field) => ({ field, before: plain(before[field]), after: plain(after[field]) }))
}

/** Returns the value as in JSON: undefined fields are absent. */
function plain(value: unknown): z.core.util.JSONType {
  return JSON.parse(JSON.stringify(value ?? null)) as z.core.util.JSONType
}

export const PlannedChange = z.object({
  slug: z.string(),
  path: z.string().describe("Empty for a pipeline whose document was removed."),
  action: z.enum(["create", "change", "disable", "unchanged", "refused"]),
  changes: z.array(FieldChange).describe("Changed fields, from the server's document to the given one."),
  drift: z
    .object({
      message: z.string(),
      changes: z.array(FieldChange).describe("Changed fields, from the last apply to the server's document."),
    })
    .nullable()
    .describe("Set if the pipeline was changed on the server since the last apply; an apply then needs `force`."),
  needs_force: z.array(z.string()).describe("Why an apply needs `force`, such as a missing integration."),
  problems: z.array(z.string()).describe("Why the document is refused."),
  warnings: z.array(z.string()),
})
export type PlannedChange = z.infer<typeof PlannedChange>

export interface Planned {
  readonly change: PlannedChange
  readonly given: ReadDocument | undefined
  readonly stored: PipelineRecord | undefined
  /** Comparison of the given secret with the pipeline's. */
  readonly standing: Standing
}

export interface PlanArgs {
  readonly organization: Caller["organization"]
  readonly documents: readonly GivenDocument[]
  /** The documents are complete: pipelines applied from other documents will be disabled. */
  readonly complete: boolean
  /** True if the caller may replace a pipeline's secret. */
  readonly mayRotate: boolean
}

/** Returns warnings about a stored pipeline's new document. */
export type PlanNote = (
  organization: string,
  pipeline: Pick<PipelineRecord, "id" | "slug" | "document">,
  planned: PipelineDocument,
) => Promise<string[]>

export const PlanNotes = defineExtensionPoint<PlanNote>({ id: "pipeline-files.plan-notes" })

export interface PlanDeps {
  readonly store: Store
  readonly engine: PipelineEngine
  readonly secrets: SecretKeeper
  /** Absent if the documents are checked without their events. */
  readonly notes?: readonly PlanNote[]
}

/** Throws AppError `invalid_argument` if two documents have the same slug or a document is invalid. */
export async function plan({ organization, documents, complete, mayRotate }: PlanArgs, deps: PlanDeps): Promise<Planned[]> {
  const given = documents.map(readGiven)
  refuseTwins(given)
  const stored = await deps.store.open(Pipelines, organization.id).find({}, { limit: 10_000 })
  const bySlug = new Map(stored.map((record) => [record.slug, record]))
  const planned: Planned[] = []
  for (const one of given) planned.push(await planOne({ organization, mayRotate }, one, bySlug.get(one.slug), deps))
  if (!complete) return planned
  const named = new Set(given.map(({ slug }) => slug))
  const gone = stored.filter(
    (record) => record.file !== null && !named.has(record.slug) && record.state !== "disabled" && record.purpose !== "page_events",
  )
  for (const record of gone) planned.push(await planDisabled(organization, record, deps))
  return planned
}

function refuseTwins(given: readonly ReadDocument[]): void {
  const paths = new Map<string, string>()
  for (const { slug, path } of given) {
    const other = paths.get(slug)
    if (other !== undefined) {
      const message = `${other} and ${path} both have the slug "${slug}"; change one.`
      throw new AppError("invalid_argument", message, { reason: "duplicate_slug", slug })
    }
    paths.set(slug, path)
  }
}

async function planOne(
  { organization, mayRotate }: Pick<PlanArgs, "organization" | "mayRotate">,
  given: ReadDocument,
  stored: PipelineRecord | undefined,
  deps: PlanDeps,
): Promise<Planned> {
  const { slug, path } = given
  const compilation = await deps.engine.compile(given.document, organization)
  const problems = compilation.findings
    .filter(({ level }) => level === "error")
    .map(({ rule, pointer, message }) => `${rule} at ${pointer || "/"}: ${message}`)
  const warnings = compilation.findings.filter(({ level }) => level === "warning").map(({ rule, message }) => `${rule}: ${message}`)
  warnings.push(...unsetWarnings(given, stored))
  const base = { slug, path, drift: null, changes: [] as FieldChange[], needs_force: [], problems, warnings }
  if (!stored) return { change: { ...base, action: problems.length > 0 ? "refused" : "create" }, given, stored, standing: "missing" }
  if (stored.purpose === "page_events") problems.push("The service itself made this pipeline for a page; give the document another slug.")
  for (const note of deps.notes ?? []) warnings.push(...(await note(organization.id, stored, given.document)))
  problems.push(...fixedProblems(stored.document, given.document))
  const standing = standingOf(given, stored, deps.secrets)
  const replaced = standing === "other" || standing === "rotated"
  if (replaced && !mayRotate) problems.push("Its secret differs from the file's; replacing it requires an admin key.")
  const changes = [...fieldChanges(stored.document, wanted(given, stored)), ...secretChange(standing)]
  const drift = (await driftOf(organization.id, stored, deps.store)) ?? rotationDrift(standing)
  const action = problems.length > 0 ? "refused" : changes.length > 0 ? "change" : "unchanged"
  return { change: { ...base, changes, drift, action }, given, stored, standing }
}

function fixedProblems(stored: PipelineDocument, { source_kind, auth_mode, auth_config }: PipelineDocument): string[] {
  try {
    refuseFixed(stored, { source_kind, auth_mode, auth_config })
    return []
  } catch (error) {
    if (error instanceof AppError) return [error.message]
    throw error
  }
}

async function planDisabled(organization: PlanArgs["organization"], stored: PipelineRecord, { store }: PlanDeps): Promise<Planned> {
  const changes = [{ field: "state", before: stored.state, after: "disabled" }]
  const drift = await driftOf(organization.id, stored, store)
  const change: PlannedChange = {
    slug: stored.slug,
    path: "",
    action: "disable",
    changes,
    drift,
    needs_force: [],
    problems: [],
    warnings: [],
  }
  return { change, given: undefined, stored, standing: "not given" }
}

function rotationDrift(standing: Standing): PlannedChange["drift"] {
  if (standing !== "rotated") return null
  return { message: "Its secret was rotated on the server since the last apply, and its variable has another value.", changes: [] }
}

async function driftOf(
  organization: string,
  { id, file, revision, document }: PipelineRecord,
  store: Store,
): Promise<PlannedChange["drift"]> {
  if (file === null) return { message: "It was created on the server, not applied from a file.", changes: [] }
  if (file.applied_revision === revision) return null
  const applied = await store.open(Revisions, organization).get(`${id}:${file.applied_revision}`)
  const changes = applied ? fieldChanges(applied.document as unknown as PipelineDocument, document) : []
  if (changes.length === 0 && applied) return null
  return {
    message: `It was changed on the server since the last apply (revision ${file.applied_revision} was applied, the server has ${revision}).`,
    changes,
  }
}
