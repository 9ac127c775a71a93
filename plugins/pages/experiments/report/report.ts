// All evidence on an experiment side by side, from the ledger alone: panel and tournament are fitted again from their
// observations, so that the same ledger gives the same report. Pure.
import type { StoredExperiment, StoredObservation } from "../collections.ts"
import { ExperimentResource } from "../experiment.ts"
import { counted } from "../ledger.ts"
import { panelSection, tournamentSection } from "./judged-sections.ts"
import { recordedSection } from "./live-section.ts"
import type { LiveSection, Report } from "./resource.ts"

/** `observations`: the whole ledger of the experiment. `seen`: visitors counted now, in place of those that the ledger has. */
export function reportOf(experiment: StoredExperiment, observations: readonly StoredObservation[], seen?: LiveSection): Report {
  const inOrder = [...observations].sort((one, other) => (isBefore(one, other) ? -1 : 1))
  const counting = counted(inOrder)
  const live = seen ?? recordedSection(counting, experiment.variants)
  const panel = panelSection(counting) ?? null
  const tournament = tournamentSection(counting) ?? null
  const feedback = counting
    .filter(({ kind }) => kind === "defect")
    .map(({ id, variant_key, judge_slug, reason, details, created_at }) => ({
      observation_id: id,
      variant_key,
      judge_slug,
      feedback: reason,
      image_bucket_key: String(details["image_bucket_key"] ?? ""),
      at: created_at,
    }))
  const summary = experiment.variants.map(({ key }) => {
    const inPanel = panel?.ranking.find((one) => one.variant_key === key)
    const inTournament = tournament?.ranking.find((one) => one.represents.includes(key))
    return {
      variant_key: key,
      panel_score: inPanel?.score ?? null,
      panel_rank: inPanel?.score == null ? null : inPanel.rank,
      tournament_strength: inTournament?.strength ?? null,
      tournament_rank: inTournament?.rank ?? null,
      feedback: feedback.filter((one) => one.variant_key === key).length,
      conversion_rate: live?.variants.find((one) => one.variant_key === key)?.rate ?? null,
    }
  })
  return {
    experiment: ExperimentResource.show(experiment) as Report["experiment"],
    as_of: inOrder.at(-1)?.created_at ?? null,
    summary,
    panel,
    tournament,
    feedback,
    live: live ?? null,
  }
}

function isBefore(one: StoredObservation, other: StoredObservation): boolean {
  return one.created_at < other.created_at || (one.created_at === other.created_at && one.id < other.id)
}
