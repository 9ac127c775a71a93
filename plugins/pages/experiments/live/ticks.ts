// Scheduled work of running experiments: daily live evidence on the ledger and, if configured, new weights of the page.
// Each experiment has its own schedules in its organization, from its start to its end.
import { z } from "zod"
import { Clock, type Deps, defineJob, Postponed, Store, timestamp, type UnitOfWork } from "#core"
import { Pages } from "../../pages/index.ts"
import { type AllocationRule, allocateJob, recordJob, type StoredExperiment } from "../collections.ts"
import { Experiments } from "../experiment.ts"
import { Ledger } from "../ledger.ts"
import { RunCollection } from "../runs.ts"
import { allocate } from "./allocation.ts"
import { isBehind } from "./evidence.ts"
import { changeWeights, sharedWeights } from "./page-weights.ts"
import { LiveEvidenceReader } from "./reader.ts"
import { recordLive } from "./record.ts"

const waitMs = 60_000

export class LiveTicks {
  static readonly inject = { store: Store, clock: Clock, experiments: Experiments, ledger: Ledger, live: LiveEvidenceReader, pages: Pages }
  readonly #deps: Deps<typeof LiveTicks.inject>

  constructor(deps: Deps<typeof LiveTicks.inject>) {
    this.#deps = deps
  }

  /** Stages the day's observations. */
  async record(work: UnitOfWork, organization: string, id: string, signal: AbortSignal): Promise<void> {
    const { experiments, live, ledger, clock } = this.#deps
    const experiment = await experiments.require(organization, id)
    if (experiment.status !== "running") return
    const evidence = await live.of(organization, experiment, { window: "full_weeks", signal })
    // An outdated copy would record missing visitors.
    if (evidence.analytics_enabled && isBehind(evidence.as_of, clock.now())) throw new Postponed(waitMs)
    recordLive(ledger, work, organization, { experiment, live: evidence, occasion: timestamp(clock.now()).slice(0, 10) })
  }

  /** Stages changed weights. Weights stay as they are during a sample ratio alarm. */
  async allocate(work: UnitOfWork, organization: string, id: string, signal: AbortSignal): Promise<void> {
    const { experiments, live, pages, clock } = this.#deps
    const experiment = await experiments.require(organization, id)
    const { allocation: rule, page_id, variants } = experiment
    if (experiment.status !== "running" || !rule || page_id === null) return
    const page = await pages.get(organization, page_id)
    if (page?.status !== "published" || variants.some(({ page_variant }) => page.variants.every(({ key }) => key !== page_variant))) return
    const { counted, evidence } = await live.read(organization, experiment, { window: "all", signal })
    if (evidence.sample_ratio.verdict === "alarm" || !evidence.analytics_enabled) return
    if (isBehind(evidence.as_of, clock.now())) throw new Postponed(waitMs)
    const { counts, segments } = counted
    const scores = await this.#scores(organization, experiment, rule)
    const { shares, chances } = allocate({ rule, variantCount: variants.length, counts, segments, scores })
    changeWeights(this.#deps, work, organization, {
      experiment,
      page,
      weights: sharedWeights(experiment, page, shares),
      judge: "live:allocation",
      reason: "Weights follow how likely each variant is the best.",
      details: {
        chances: Object.fromEntries(variants.map(({ key }, place) => [key, chances[place] ?? 0])),
        floor: rule.floor,
        prior: scores ? "tournament" : "none",
      },
    })
  }

  /** Returns scores of the last tournament with every variant. Merged variants share a score. */
  async #scores(organization: string, { id, variants }: StoredExperiment, rule: AllocationRule): Promise<number[] | undefined> {
    if (rule.prior !== "tournament") return undefined
    const runs = this.#deps.store.open(RunCollection, organization).stream({ experiment_id: id }, { sort: { id: -1 } })
    for await (const { kind, status, result } of runs) {
      const read = kind === "tournament" && status === "completed" ? Ranked.safeParse(result) : undefined
      const scores = variants.map(({ key }) => read?.data?.ranking.find(({ represents }) => represents.includes(key))?.score)
      if (scores.every((score) => score !== undefined)) return scores
    }
    return undefined
  }
}

const Ranked = z.object({ ranking: z.array(z.object({ represents: z.array(z.string()), score: z.number() })) })

export const recordDay = defineJob(recordJob, {
  summary: "Put an experiment's live evidence on its ledger.",
  inject: { ticks: LiveTicks },
  run: ({ payload, deps, organization = "", work, signal }) => deps.ticks.record(work, organization, payload.experiment_id, signal),
})

export const allocateWeights = defineJob(allocateJob, {
  summary: "Have a page's weights follow an experiment's evidence.",
  inject: { ticks: LiveTicks },
  run: ({ payload, deps, organization = "", work, signal }) => deps.ticks.allocate(work, organization, payload.experiment_id, signal),
})
