// Applies a plan in one unit of work, completely or not at all. A concurrent change on the server fails the commit; the caller
// plans again.
import { isDeepStrictEqual } from "node:util"
import { AppError, type UnitOfWork } from "#core"
import { StagedWork } from "#core/engine"
import { type AppliedFile, type EventPipelines, type Organization, type PipelineRecord, Pipelines } from "../../pipelines/index.ts"
import { markOf, takenSecret, unsetWarnings, wanted } from "./named-secret.ts"
import type { Planned } from "./plan.ts"

/** The caller of an apply. */
export interface Applier {
  readonly organization: Organization
  readonly byAgent: boolean
}

export interface ApplyArgs extends Applier {
  readonly planned: readonly Planned[]
  /** Overwrites changes made on the server. */
  readonly force: boolean
}

/** Stages all changes. Returns further warnings by slug. Throws `failed_precondition` if a document is refused or has drifted. */
export async function stagePlan(
  { organization, byAgent, planned, force }: ApplyArgs,
  pipelines: EventPipelines,
  work: UnitOfWork,
): Promise<Map<string, string[]>> {
  refuse(planned, force)
  const warnings = new Map<string, string[]>()
  for (const one of planned) {
    const further = await stageOne({ organization, byAgent }, one, pipelines, work, force)
    if (further) warnings.set(one.change.slug, further)
  }
  return warnings
}

/** Returns the plan with the warnings and problems of saving. Stages each change as an apply would, and discards it. */
export async function rehearse(applier: Applier, planned: readonly Planned[], pipelines: EventPipelines): Promise<Planned[]> {
  const work = new StagedWork("plan")
  const rehearsed: Planned[] = []
  for (const one of planned) {
    const { change } = one
    const told = change.action === "refused" ? {} : await rehearseOne(applier, one, pipelines, work)
    rehearsed.push({ ...one, change: { ...change, ...told } })
  }
  return rehearsed
}

async function rehearseOne(
  applier: Applier,
  planned: Planned,
  pipelines: EventPipelines,
  work: UnitOfWork,
  force = false,
): Promise<Partial<Planned["change"]>> {
  try {
    const warnings = await stageOne(applier, planned, pipelines, work, force)
    return warnings ? { warnings } : {}
  } catch (error) {
    if (error instanceof AppError && error.details.reason === "connection_missing" && !force)
      return { ...(await rehearseOne(applier, planned, pipelines, work, true)), needs_force: [error.message] }
    if (!(error instanceof AppError && (error.code === "invalid_argument" || error.details.reason === "person_needed"))) throw error
    return { action: "refused", problems: [error.message] }
  }
}

/** Returns the warnings of a pipeline that remains active. */
async function stageOne(
  { organization, byAgent }: Applier,
  { change, given, stored, standing }: Planned,
  pipelines: EventPipelines,
  work: UnitOfWork,
  force: boolean,
): Promise<string[] | undefined> {
  if (given && !stored) {
    const { document, secret } = given
    const auth_config = secret === undefined ? document.auth_config : { ...document.auth_config, secret }
    const saved = await pipelines.create(organization, { ...wanted(given, undefined), auth_config }, work, given.mark, undefined, {
      byAgent,
      force,
    })
    return [...saved.warnings, ...unsetWarnings(given, undefined)]
  }
  const isReviewed = !byAgent && (stored?.agent_fields?.length ?? 0) > 0
  if (given && stored && (change.action === "change" || isReviewed)) {
    const { slug: _, ...document } = wanted(given, stored)
    const update = { mark: markOf(given, stored, standing), secret: takenSecret(given, standing) }
    const saved = await pipelines.update(organization, stored.id, document, work, stored.revision, update, { byAgent, force })
    return [...saved.warnings, ...unsetWarnings(given, stored)]
  }
  if (given && stored) {
    remember(organization, stored, markOf(given, stored, standing), work)
    return [...change.warnings, ...(await pipelines.dependencyWarnings(organization.id, stored))]
  }
  if (stored?.file) {
    // The digest is empty, so a restored file is applied again.
    const mark = { ...stored.file, digest: "" }
    await pipelines.update(organization, stored.id, { state: "disabled" }, work, stored.revision, { mark }, { byAgent })
  }
  return undefined
}

/** Returns the error for an apply that lost to concurrent changes more than once. */
export async function changedMeanwhile({ details }: AppError, organization: Organization, pipelines: EventPipelines): Promise<AppError> {
  const { id, slug } = details
  const stored = typeof id === "string" ? await pipelines.find(organization.id, id) : undefined
  const name = stored?.slug ?? (typeof slug === "string" ? slug : "a pipeline")
  return new AppError("aborted", `Nothing was applied: ${name} was changed concurrently; run apply again.`, { reason: "stale_plan" })
}

function refuse(planned: readonly Planned[], force: boolean): void {
  const refused = planned.filter(({ change }) => change.action === "refused")
  if (refused.length > 0) {
    const said = refused.map(({ change }) => `${change.slug}: ${change.problems.join(" ")}`).join("\n")
    throw new AppError("failed_precondition", `Nothing was applied. ${said}`, {
      reason: "documents_refused",
      pipelines: refused.map(({ change }) => change.slug),
    })
  }
  const drifted = force ? [] : planned.filter(({ change }) => change.drift !== null && change.action !== "unchanged")
  if (drifted.length === 0) return
  const names = drifted.map(({ change }) => change.slug)
  const message = `Nothing was applied: ${names.join(", ")} changed on the server since the last apply. Merge the changes into the files, or apply with force.`
  throw new AppError("failed_precondition", message, { reason: "drift", pipelines: names })
}

/** The document equals the server's. Records it as applied with the current revision. */
export function remember(organization: Organization, stored: PipelineRecord, mark: AppliedFile, work: UnitOfWork): void {
  const file = { ...mark, applied_revision: stored.revision }
  if (!isDeepStrictEqual(stored.file, file))
    work.in(Pipelines, organization.id).update(stored.id, { $set: { file } }, { where: { revision: stored.revision } })
}
