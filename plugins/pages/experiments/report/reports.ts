// Reads the data of a report: the experiment's ledger and, while it runs, its visitors.
import { AppError, type Deps, Store, token } from "#core"
import { ObservationCollection, type StoredExperiment, type StoredObservation } from "../collections.ts"
import { Experiments } from "../experiment.ts"
import { LiveEvidenceReader } from "../live/reader.ts"
import { countedSection } from "./live-section.ts"
import { reportOf } from "./report.ts"
import type { LiveSection, Report } from "./resource.ts"

export interface Reports {
  /** Throws `not_found`. */
  of(organization: string, slugOrId: string, signal: AbortSignal): Promise<Report>
}

export const Reports = token<Reports>("Reports")

export const reportsNeeds = { store: Store, experiments: Experiments, live: LiveEvidenceReader }

export function createReports({ store, experiments, live }: Deps<typeof reportsNeeds>): Reports {
  /** Returns undefined if visitors cannot be counted now. The report then uses the ledger's counts. */
  async function seenNow(organization: string, experiment: StoredExperiment, signal: AbortSignal): Promise<LiveSection | undefined> {
    if (experiment.status !== "running") return undefined
    try {
      return countedSection(await live.of(organization, experiment, { window: "full_weeks", signal }))
    } catch (error) {
      if (error instanceof AppError && ["unavailable", "resource_exhausted", "deadline_exceeded"].includes(error.code)) return undefined
      throw error
    }
  }

  return {
    async of(organization, slugOrId, signal) {
      const experiment = await experiments.require(organization, slugOrId)
      const observations: StoredObservation[] = []
      for await (const observation of store.open(ObservationCollection, organization).stream({ experiment_id: experiment.id })) {
        signal.throwIfAborted()
        observations.push(observation)
      }
      return reportOf(experiment, observations, await seenNow(organization, experiment, signal))
    },
  }
}
