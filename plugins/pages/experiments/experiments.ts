// Experiments of an organization, found and changed; what each status allows.
import { AppError, type Clock, isUuid, type Store, stageRevision, token, type UnitOfWork } from "#core"
import { ExperimentCollection, type ExperimentStatus, type StoredExperiment } from "./collections.ts"

export type ExperimentChange = Partial<Omit<StoredExperiment, "id" | "slug" | "organization_id" | "revision" | "created_at" | "updated_at">>

export interface Experiments {
  /** By slug or UUID. Throws `not_found`. */
  require(organization: string, slugOrId: string): Promise<StoredExperiment>
  /** Stages a change made for the experiment as read; one made meanwhile has the commit `aborted`. */
  update(work: UnitOfWork, organization: string, experiment: StoredExperiment, change: ExperimentChange): StoredExperiment
}

export const Experiments = token<Experiments>("Experiments")

export function createExperiments({ store, clock }: { store: Store; clock: Clock }): Experiments {
  return {
    async require(organization, slugOrId) {
      const experiments = store.open(ExperimentCollection, organization)
      const found = isUuid(slugOrId) ? await experiments.get(slugOrId) : await experiments.first({ slug: slugOrId })
      if (found) return found
      throw new AppError("not_found", `The organization has no experiment "${slugOrId}"; GET /v1/experiments lists them.`, {
        reason: "experiment_not_found",
      })
    },
    update(work, organization, experiment, change) {
      return stageRevision(work.in(ExperimentCollection, organization), experiment, change, clock.now())
    },
  }
}

/** Throws `failed_precondition` unless the experiment has one of the statuses. */
export function requireStatus({ slug, status }: StoredExperiment, allowed: readonly ExperimentStatus[], what: string): void {
  if (allowed.includes(status)) return
  throw new AppError("failed_precondition", `${what} needs the status ${allowed.join(" or ")}; the experiment "${slug}" is ${status}.`, {
    reason: "wrong_status",
    status,
  })
}

/** Throws `invalid_argument` naming the field for a key that the experiment lacks. */
export function requireVariant({ slug, variants }: StoredExperiment, key: string, path = "variant_key"): void {
  if (variants.some((variant) => variant.key === key)) return
  const message = `the experiment "${slug}" has no variant "${key}"; it has ${variants.map((variant) => variant.key).join(", ") || "none"}`
  throw new AppError("invalid_argument", `${path}: ${message}.`, { reason: "variant_unknown", fields: [{ path, message }] })
}
