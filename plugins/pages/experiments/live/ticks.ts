// What happens by the clock while an experiment runs: once a day its live evidence goes on the ledger, and where it asks for
// that, the page's weights follow it. Each experiment has schedules of its own, in its organization; they begin when it starts
// and end with it.
import { createHash } from "node:crypto"
import { z } from "zod"
import { type Clock, defineJob, Postponed, type Scheduler, type Store, timestamp, token, type UnitOfWork } from "#core"
import type { Pages } from "../../pages/index.ts"
import type { AllocationRule, StoredExperiment } from "../collections.ts"
import type { Experiments } from "../experiments.ts"
import type { Ledger } from "../ledger.ts"
import { RunCollection } from "../runs.ts"
import { allocate } from "./allocation.ts"
import { isBehind } from "./evidence.ts"
import { changeWeights, sharedWeights } from "./page-weights.ts"
import type { LiveEvidenceReader } from "./reader.ts"
import { recordLive } from "./record.ts"

export interface TickDeps {
  readonly store: Store
  readonly clock: Clock
  readonly experiments: Experiments
  readonly ledger: Ledger
  readonly live: LiveEvidenceReader
  readonly pages: Pages
}

export const LiveTicksToken = token<LiveTicks>("LiveTicks")

const Payload = z.strictObject({ experiment_id: z.string() })
const waitMs = 60_000
const retry = { max_attempts: 6, initial_delay_ms: 5_000, factor: 3, max_delay_ms: 600_000 }

export const recordDay = defineJob({
  type: "experiments.record_live",
  summary: "Put an experiment's live evidence on its ledger.",
  payload: Payload,
  retry,
  inject: { ticks: LiveTicksToken },
  run: ({ payload, deps, organization = "", work, signal }) => deps.ticks.record(work, organization, payload.experiment_id, signal),
})

export const allocateWeights = defineJob({
  type: "experiments.allocate",
  summary: "Have a page's weights follow an experiment's evidence.",
  payload: Payload,
  retry,
  inject: { ticks: LiveTicksToken },
  run: ({ payload, deps, organization = "", work, signal }) => deps.ticks.allocate(work, organization, payload.experiment_id, signal),
})

export class LiveTicks {
  readonly #deps: TickDeps

  constructor(deps: TickDeps) {
    this.#deps = deps
  }

  /** Stages the day's observations. */
  async record(work: UnitOfWork, organization: string, id: string, signal: AbortSignal): Promise<void> {
    const { experiments, live, ledger, clock } = this.#deps
    const experiment = await experiments.require(organization, id)
    if (experiment.status !== "running") return
    const evidence = await live.of(organization, experiment, { window: "full_weeks", signal })
    // A copy of the events that is behind would put visitors on the ledger as not having been there.
    if (evidence.analytics_enabled && isBehind(evidence.as_of, clock.now())) throw new Postponed(waitMs)
    recordLive(ledger, work, organization, { experiment, live: evidence, occasion: timestamp(clock.now()).slice(0, 10) })
  }

  /** Stages weights where they change. While the sample ratio is not as it should be they stay. */
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

  /** Of the last tournament that judged every variant; those that were merged share a score. */
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

/** Stages the schedules of an experiment as it is now, or their end. */
export function keepSchedules(scheduler: Scheduler, work: UnitOfWork, organization: string, experiment: StoredExperiment): void {
  const { id, status, allocation } = experiment
  const running = status === "running"
  const own = { id, organization, payload: { experiment_id: id } }
  if (running) scheduler.set(work, { ...own, job: recordDay, cron: cronOf(id, "1d") })
  else scheduler.remove(work, recordDay, id)
  if (running && allocation) scheduler.set(work, { ...own, job: allocateWeights, cron: cronOf(id, allocation.interval) })
  else scheduler.remove(work, allocateWeights, id)
}

/** At minutes of its own, so that not all experiments are counted at once. */
function cronOf(id: string, interval: AllocationRule["interval"]): string {
  const hash = createHash("sha256").update(id).digest()
  const minute = hash.readUInt8(0) % 60
  if (interval === "1h") return `${minute} * * * *`
  const first = hash.readUInt8(1) % 6
  return `${minute} ${interval === "6h" ? [0, 6, 12, 18].map((hour) => hour + first).join(",") : first} * * *`
}
