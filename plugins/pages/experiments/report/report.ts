// Report of all evidence on an experiment, from the ledger alone. Panel and tournament are fitted again from their observations,
// so the same ledger produces the same report. Pure.
import type { StoredExperiment, StoredObservation } from "../collections.ts"
import { ExperimentResource } from "../experiment.ts"
import { counted } from "../ledger.ts"
import { panelSection, tournamentSection } from "./judged-sections.ts"
import { recordedSection } from "./live-section.ts"
import type { LiveSection, Report } from "./resource.ts"

/** `observations`: the experiment's whole ledger. `section`: visitors counted now, instead of those on the ledger. */
export function reportOf(experiment: StoredExperiment, observations: readonly StoredObservation[], section?: LiveSection): Report {
  const inOrder = [...observations].sort((left, right) => (isBefore(left, right) ? -1 : 1))
  const counting = counted(inOrder)
  const live = section ?? recordedSection(counting, experiment.variants)
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
    const inPanel = panel?.ranking.find((entry) => entry.variant_key === key)
    const inTournament = tournament?.ranking.find((entry) => entry.represents.includes(key))
    return {
      variant_key: key,
      panel_score: inPanel?.score ?? null,
      panel_rank: inPanel?.score == null ? null : inPanel.rank,
      tournament_strength: inTournament?.strength ?? null,
      tournament_rank: inTournament?.rank ?? null,
      feedback: feedback.filter((entry) => entry.variant_key === key).length,
      conversion_rate: live?.variants.find((variant) => variant.variant_key === key)?.rate ?? null,
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

function isBefore(first: StoredObservation, second: StoredObservation): boolean {
  return first.created_at < second.created_at || (first.created_at === second.created_at && first.id < second.id)
}
