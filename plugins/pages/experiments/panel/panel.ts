// A panel: each persona reads each variant once per draw. Every cell of the table is a job and an observation, so a crash loses
// only unfinished cells. One decision check summarizes the complete table.

import { z } from "zod"
import { AppError, Clock, type Deps, defineJob, derivedUuid, type Json, Postponed, Store, token, type UnitOfWork } from "#core"
import { type Answered, Models, type Question } from "../../../agents/models/index.ts"
import { ObservationCollection, type StoredExperiment, type StoredObservation } from "../collections.ts"
import { Experiments } from "../experiment.ts"
import { counted, describeFailure, isCorrection, Ledger } from "../ledger.ts"
import { finished, type PersonaSnapshot, RunCollection, requireRun, type StoredRun } from "../runs.ts"
import { type VariantView, VariantViews, viewDetails } from "../variant-views.ts"
import { anchorSets, expected, points, rated } from "./anchors.ts"
import { ownWords, pagePrompt, Rating, withRating } from "./prompts.ts"
import { cellOf, panelRanking, panelSlugOf } from "./ranking.ts"

/** Operator settings for experiments. */
export const ExperimentSettings = z.strictObject({
  sync_deadline_ms: z.int().min(0).max(110_000).default(20_000).describe("How long the call that starts a panel waits for its end."),
  panel_slots: z.int().min(1).max(256).default(8).describe("Cells of panels at once on this node."),
  tournament_slots: z.int().min(1).max(64).default(4).describe("Tournaments at once on this node."),
  render_pages: z
    .boolean()
    .default(true)
    .describe("Whether models are shown pages as Chromium renders them; false: their text is read from the HTML, scripts not run."),
  max_panel_cells: z.int().min(1).max(100_000).default(2_000).describe("Personas x variants x draws of one panel."),
})

export type ExperimentSettings = z.output<typeof ExperimentSettings>

export const ExperimentConfig = token<ExperimentSettings>("experiment settings")

export interface CellRef {
  readonly run_id: string
  readonly persona: string
  readonly variant: string
  readonly draw: number
}

export type PanelDeps = Deps<typeof Panel.inject>

/** Makes draws differ. A repeat of the same draw has the same answer. */
const temperature = 0.7
const maxAnswerTokens = 400
/** Delay before another check for the end of a panel. */
const endMs = 300

export class Panel {
  static readonly inject = { store: Store, clock: Clock, models: Models, experiments: Experiments, ledger: Ledger, views: VariantViews }
  readonly #deps: PanelDeps

  constructor(deps: PanelDeps) {
    this.#deps = deps
  }

  /** Returns the upper estimate of all cells' cost, in millicents. */
  estimate(personas: readonly PersonaSnapshot[], texts: readonly string[], draws: number, images: boolean): number {
    const { models } = this.#deps
    const estimates = personas.flatMap((persona) =>
      texts.map((text) => models.estimate(this.#question(persona, text, images ? [new Uint8Array()] : [], 1))),
    )
    return estimates.reduce((sum, cost) => sum + cost, 0) * draws
  }

  /** Runs one cell and stages its observation. Throws errors that a retry may fix. */
  async cell(work: UnitOfWork, organization: string, ref: CellRef, signal: AbortSignal): Promise<void> {
    const { store, models, experiments, views } = this.#deps
    const run = await requireRun(store, organization, ref.run_id)
    const persona = run.personas?.find(({ slug }) => slug === ref.persona)
    if (!persona) return
    const experiment = await experiments.require(organization, run.experiment_id)
    const view = await views.of(organization, run, ref.variant, models.language("persona"))
    const question = { ...this.#question(persona, view.text, view.image ? [view.image] : [], ref.draw), signal }
    if (!models.embedding()) {
      const { value, ...call } = await models.object(organization, { ...question, schema: Rating })
      const details = { method: "structured_rating", ...madeOf(call, view) }
      this.#observe(work, organization, experiment, ref, { value: value.likelihood, reason: value.answer, details })
      return
    }
    const { value: answer, ...call } = await models.text(organization, question)
    const [own = [], ...anchors] = (await models.embed(organization, [answer, ...anchorSets.flat()], { signal })).value
    const sets = anchorSets.map((_, place) => anchors.slice(place * points.length, (place + 1) * points.length))
    const distribution = rated(own, sets)
    const details = { method: "semantic_similarity", ...madeOf(call, view), distribution }
    this.#observe(work, organization, experiment, ref, { value: expected(distribution), reason: answer, details })
  }

  /** Stages a cell that failed permanently. It counts as failed, never as an opinion. */
  async failed(work: UnitOfWork, organization: string, ref: CellRef, error: unknown): Promise<void> {
    const { store, experiments } = this.#deps
    const run = await store.open(RunCollection, organization).get(ref.run_id)
    const experiment = run && (await experiments.require(organization, run.experiment_id))
    if (!experiment) return
    const { message, reason } = describeFailure(error)
    this.#observe(work, organization, experiment, ref, {
      value: null,
      reason: message,
      details: { failed: reason },
    })
  }

  /** Stages the decision check when every cell is complete. Throws Postponed before. */
  async finish(work: UnitOfWork, organization: string, runId: string): Promise<void> {
    const { store, clock, experiments, ledger } = this.#deps
    const run = await requireRun(store, organization, runId)
    if (run.status === "completed") return
    const observations = store.open(ObservationCollection, organization)
    const filter = { experiment_id: run.experiment_id, run_id: run.id, kind: "panel" }
    if ((await observations.count(filter, { limit: cellsOf(run) })) < cellsOf(run)) throw new Postponed(endMs)
    const scores: StoredObservation[] = []
    for await (const observation of observations.stream(filter)) scores.push(observation)
    if (scores.filter((observation) => !isCorrection(observation)).length < cellsOf(run)) throw new Postponed(endMs)
    const cells = counted(scores).map(cellOf)
    const experiment = await experiments.require(organization, run.experiment_id)
    const result = panelRanking(
      cells,
      run.variants.map(({ key }) => key),
      (run.personas ?? []).map(({ slug }) => slug),
    )
    const [best] = result.ranking
    ledger.add(work, organization, experiment, {
      id: derivedUuid("decision check", run.id),
      kind: "decision_check",
      variant_key: best?.variant_key ?? "",
      judge_slug: panelSlugOf(this.#deps.models.language("persona").model),
      value: best?.score ?? null,
      reason: `Panel of ${run.personas?.length ?? 0} personas, ${run.draws ?? 1} draws each.`,
      details: result as unknown as Record<string, Json>,
      run_id: run.id,
    })
    work.in(RunCollection, organization).update(run.id, finished(result as unknown as Json, clock.now()), { where: { status: "running" } })
  }

  #question(persona: PersonaSnapshot, text: string, images: readonly Uint8Array[], draw: number): Question {
    const prompt = this.#deps.models.embedding() ? ownWords(persona) : withRating(persona)
    return {
      purpose: "persona",
      prompt,
      input: pagePrompt(text),
      images,
      seat: `draw ${draw}`,
      temperature,
      maxOutputTokens: maxAnswerTokens,
    }
  }

  #observe(
    work: UnitOfWork,
    organization: string,
    experiment: StoredExperiment,
    { run_id, persona, variant, draw }: CellRef,
    score: { value: number | null; reason: string; details: Record<string, Json> },
  ): void {
    const id = derivedUuid("panel cell", run_id, persona, variant, String(draw))
    const cell = { id, kind: "panel" as const, variant_key: variant, judge_slug: `persona:${persona}`, run_id }
    this.#deps.ledger.add(work, organization, experiment, { ...cell, ...score, details: { ...score.details, draw } })
  }
}

/** Returns the origin of an answer: model, prompt, cost, and the form of the page. */
function madeOf({ madeBy, costMillicents, kept }: Omit<Answered<unknown>, "value">, view: VariantView) {
  return { made_by: madeBy, cost_millicents: costMillicents, kept, ...viewDetails(view) }
}

export function cellsOf({ personas = [], variants, draws = 1 }: StoredRun): number {
  return personas.length * variants.length * draws
}

/** Jobs of a panel: one per cell, and one that waits for all cells. */
export const PanelToken = token<Panel>("Panel")

const retry = { max_attempts: 3, initial_delay_ms: 1_000, factor: 4, max_delay_ms: 60_000 }

export const panelCell = defineJob({
  type: "experiments.panel_cell",
  summary: "Have a persona read a variant.",
  payload: z.strictObject({ run_id: z.string(), persona: z.string(), variant: z.string(), draw: z.int() }),
  retry,
  timeoutMs: 180_000,
  inject: { panel: PanelToken },
  async run({ payload, deps, organization = "", work, signal }) {
    try {
      await deps.panel.cell(work, organization, payload, signal)
    } catch (error) {
      if (!isFinal(error)) throw error
      await deps.panel.failed(work, organization, payload, error)
    }
  },
  exhausted: ({ payload, deps, organization = "", work }, error) => deps.panel.failed(work, organization, payload, error),
})

export const panelEnd = defineJob({
  type: "experiments.panel_end",
  summary: "Sum a panel up when all of its cells are there.",
  payload: z.strictObject({ run_id: z.string() }),
  inject: { panel: PanelToken },
  run: ({ payload, deps, organization = "", work }) => deps.panel.finish(work, organization, payload.run_id),
})

/** Returns true if a retry cannot fix the failure. A malformed answer is retried: the next one may be well formed. */
function isFinal(error: unknown): boolean {
  return error instanceof AppError && error.details["retryable"] === false && error.details.reason !== "model_malformed"
}
