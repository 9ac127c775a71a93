// Finds and changes experiments of an organization.
import { type Clock, type Store, stageRevision, token, type UnitOfWork } from "#core"
import type { StoredExperiment } from "./collections.ts"
import { ExperimentResource } from "./experiment.ts"

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
    require: (organization, slugOrId) => ExperimentResource.items.require(store, organization, slugOrId),
    update(work, organization, experiment, change) {
      return stageRevision(work.in(ExperimentResource.collection, organization), experiment, change, clock.now())
    },
  }
}
